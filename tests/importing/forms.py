"""Issue forms for tests, as projects write them."""

BUG = """\
name: Bug report
description: Something doesn't work
title: "[Bug]: "
labels: [bug, triage]
assignees: octocat
body:
  - type: markdown
    attributes:
      value: |
        Thanks for taking the time!
  - type: input
    id: contact
    attributes:
      label: Contact details
      description: How can we reach you?
      placeholder: ex. email@example.com
    validations:
      required: false
  - type: textarea
    id: what-happened
    attributes:
      label: What happened?
      description: Also tell us, what did you expect to happen?
      value: "A bug happened!"
    validations:
      required: true
  - type: dropdown
    attributes:
      label: Version
      options:
        - 1.10
        - no
        -
        - 2022-08-01
        - 0x1F
        - main # of today
      default: 0
    validations:
      required: true
  - type: dropdown
    id: browsers
    attributes:
      label: Which pages?
      multiple: true
      options: [Start, Search]
  - type: checkboxes
    id: terms
    attributes:
      label: Code of conduct
      options:
        - label: I agree
          required: true
        - label: I was asked to
"""
WISH = """\
name: 機能 request
description: A wish
body:
- type: dropdown
  attributes: {label: Version, options: ['2', "3"]}
- type: input
  attributes: {label: ⚠️ 版本?}
  validations: {required: true}
- type: input
  id: contact
  attributes: {label: Contact details, description: How can we reach you?}
- type: upload
  id: screenshot
  attributes: {label: A picture}
"""
PACK = """\
pack: desk
version: 0.1.0
description: 'TODO: what this help desk has to ask before it can help'
fields:
  contact:
    description: 'Contact details: How can we reach you?'
  what-happened:
    description: What happened? Also tell us, what did you expect to happen?
  Version (Bug report):
    description: Version
    schema:
      enum:
        - '1.10'
        - 'no'
        - ''
        - '2022-08-01'
        - '0x1F'
        - main
    sample:
      - '1.10'
      - 'no'
      - ''
      - '2022-08-01'
      - '0x1F'
      - main
  browsers:
    description: 'Which pages? (any of: Start, Search)'
  terms:
    description: 'Code of conduct (any of: I agree, I was asked to)'
  Version (機能 request):
    description: Version
    schema:
      enum:
        - '2'
        - '3'
    sample:
      - '2'
      - '3'
  ⚠️ 版本?: {}
  screenshot:
    description: A picture
categories:
  Bug report:
    description: Something doesn't work
    requires:
      - what-happened
      - Version (Bug report)
      - terms
  機能 request:
    description: A wish
    requires:
      - ⚠️ 版本?
tickets:
  - id: t-1
    task: easy-info-collection
    category: Bug report
    messages:
      - 'TODO: what a customer writes who opens such a ticket'
    optional:
      - contact
      - browsers
    answers:
      contact: TODO
      what-happened: TODO
      browsers: TODO
      terms: TODO
  - id: t-2
    task: easy-info-collection
    category: 機能 request
    messages:
      - 'TODO: what a customer writes who opens such a ticket'
    optional:
      - Version (機能 request)
      - contact
      - screenshot
    answers:
      ⚠️ 版本?: TODO
      contact: TODO
      screenshot: TODO
"""
