// Package firestore is an embedded Firestore: google.firestore.v1.Firestore over
// gRPC, in memory or on disk, for the real clients to speak to through
// FIRESTORE_EMULATOR_HOST. It lets one command run the product, and its tests run
// with nothing installed.
//
//	s, err := firestore.Open(firestore.Options{})
//	...
//	defer s.Close()
//	addr, err := s.Start("127.0.0.1:0")
//	os.Setenv("FIRESTORE_EMULATOR_HOST", addr)
//
// It is a convenience and no judge. Package conformance says what it does, and
// Google's emulator is held to the same tests; where the two differ, this one is
// wrong. It refuses by name, with UNIMPLEMENTED, what it leaves out: the Write
// stream, PartitionQuery, pipelines, vector search, reads of the past, explain, and
// queries of every collection at once.
//
// # How it works
//
// A document is a record: one immutable version, its fields as they travel. A
// commit stages its writes, appends them to the journal and then makes the new
// records visible to reads, to views and to listeners, all under one lock that is
// never held while anything is sent. A view keeps the documents of one shape of
// query in order, as an index would, and is made when a query or a listener first
// needs it; a page or a listener's snapshot costs what it returns, however large
// the collection. A listener's targets gather what changed until its stream gets to
// send it, so a slow client holds up nobody and skips what is out of date.
//
// A listener that returns with a token is told what it missed, from the history of
// recent changes; where that does not reach back far enough, it is reset.
//
// Transactions are optimistic: they read from a snapshot, and their commit is
// aborted if what they read has changed. Production and Google's emulator lock, by
// default; clients see the same outcomes at other speeds.
//
// # Indexes
//
// A query without its index is refused, as in production and unlike Google's
// emulator: by those of deploy/firestore/firestore.indexes.json, which are deployed,
// or by Options.Indexes. The error holds the index's definition and the command that
// makes it. Other collections have the automatic single-field indexes.
//
// # On disk
//
// With Options.DataDir, a commit is in the operating system's hands before anyone
// sees it and on the disk before its client hears of it. A killed process loses no
// commit that was seen; a machine that loses power loses none that was
// acknowledged.
//
// # Faults
//
// Server.Faults makes calls fail on purpose, by method, collection or predicate:
// with a code for the n-th call, the next k or a share of them, with a delay, by
// stalling without an error, or by losing the response of a call that took effect.
// DropStreams ends what is open. Server.AdminHandler does the same over HTTP.
package firestore
