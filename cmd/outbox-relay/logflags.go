package main

import "outboxrelay/cmd/outbox-relay/logging"

type logFlags = logging.Flags
