"""The pack that `deskproof new` writes: small, commented, valid."""

EXAMPLE = """\
# yaml-language-server: $schema=pack.schema.json
# A pack describes tickets: what may be asked, and how each customer answers. docs/packs.md explains every key.
pack: my-desk
version: 0.1.0
language: en
description: What our help desk asks before it can help.

# What a customer can be asked for.
fields:
  order_id:
    description: The number on the order confirmation
    schema: {type: string, pattern: '^ORD-[0-9]{5}$'}
    sample: 'ORD-#####' # drawn anew for each episode: '#' is a digit, '?' a capital letter
  email:
    description: The address the account is under
    schema: {format: email}

# What a ticket can be about, and what each kind needs.
categories:
  delivery: {description: 'Parcels late, lost or damaged', requires: [order_id, email]}
  account: {description: Signing in, requires: [email]}

tickets:
  - id: t-1
    task: easy-info-collection
    category: account
    messages: # one of these opens the episode
      - I can't sign in any more.
      - Your site says that it doesn't know me!
    answers:
      email: sam@example.org # said as it is

  - id: t-2
    task: medium-complete-info
    category: delivery
    messages:
      - My parcel never came.
    answers: # order_id has a sample, so it needs no answer of its own
      email: # a script: each ask plays the next turn
        - say: Let me think. # says something, tells nothing
        - {say: kim@example.org I think., value: kim@example.org, wrong: true}
        - {say: 'No, kim@example.net.', value: kim@example.net}

# Played by `deskproof check`.
tests:
  - name: the address needs two more asks
    ticket: t-2
    seed: 1
    steps:
      - {do: {type: classify}, expect: {outcome: classify.right, reward: 0.5}}
      - {do: {type: ask_info, field: email}, expect: {says: Let me think., reward: 0}}
      - {do: {type: ask_info, field: email}, expect: {outcome: ask_info.mistaken, reward: 0}}
      - {do: {type: ask_info, field: email}, expect: {outcome: ask_info.answered, reward: 0.25}}
      - {do: {type: ask_info, field: order_id}, expect: {reward: 0.25}}
      - {do: {type: resolve}, expect: {reward: 1}}
    final: {status: resolved, return: 2.0, score: 1.0}
"""
