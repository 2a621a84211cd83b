// Package node writes the producer's end of a catalog in TypeScript, for Node 20 and
// @google-cloud/firestore: a type for each payload, and a class that appends events in
// the caller's own transaction, as contracts/outbox does in Go. Both are held to the
// same golden files. runtime.ts is the part that is the same for every catalog;
// default.ts and matching.ts are what is generated for the default one and for
// contracts/catalogs/matching.yaml, and what the tests here run.
package node

//go:generate go run outboxrelay/cmd/outbox-relay catalog node --output default.ts
//go:generate go run outboxrelay/cmd/outbox-relay catalog node --catalog ../catalogs/matching.yaml --output matching.ts
