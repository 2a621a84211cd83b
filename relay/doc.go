// Package relay watches outbox collections and sees each record to its end:
// delivered to every target, or in the dead-letter queue.
//
// The way of a record: a reader finds it (pages while its lane is behind, a
// listener once it has caught up) and the ledger takes it into memory; its
// lane hands it to a worker in the order of its aggregate; the router delivers
// it; the settler writes what became of it. Until that commit the document
// stays as it was, so a crash at any instruction means that it is read again.
package relay
