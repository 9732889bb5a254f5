# Ready for a Docker Space: port 7860, user 1000; and for providers that look at port 8000, whatever PORT says.
# tests/test_setup.py runs the lines after USER as another user.
FROM python:3.11-slim

RUN useradd --create-home --uid 1000 desk
USER desk
ENV HOME=/home/desk \
    PATH=/home/desk/venv/bin:/usr/local/bin:/usr/bin:/bin \
    PYTHONUNBUFFERED=1 \
    PORT=7860 \
    EXTRA_PORTS=8000
WORKDIR /home/desk/app

COPY --chown=desk requirements/ requirements/
RUN python -m venv /home/desk/venv \
    && pip install --no-cache-dir --require-hashes -r requirements/build.lock -r requirements/base.lock

COPY --chown=desk . .
RUN pip install --no-cache-dir --no-deps --no-build-isolation --editable .

EXPOSE 8000
EXPOSE 7860
HEALTHCHECK --interval=30s --timeout=5s --start-period=20s \
    CMD python -c "import os, urllib.request; urllib.request.urlopen('http://127.0.0.1:' + os.environ['PORT'] + '/health', timeout=4)"
CMD ["server"]
