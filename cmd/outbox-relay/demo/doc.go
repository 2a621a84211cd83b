// Package demo is what `outbox-relay local` puts around a relay to show what it
// does: producers that append sample records as a domain slice would,
// consumers that check what arrives, a ledger that both write to, and a table
// of it all.
package demo
