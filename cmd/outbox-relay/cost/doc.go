// Package cost says what a relay costs on Google Cloud: the operations that
// Firestore bills, storage, Pub/Sub volume, instances, and the shards that a rate
// needs under Firestore's published limits. Its formulas are plain arithmetic over
// a catalog and a workload; tests hold them to what the embedded Firestore bills
// real relays. docs/SIZING.md tells what of it was measured, what is published
// and what is assumed.
package cost

//go:generate go run ./sizing
