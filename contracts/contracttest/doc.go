// Package contracttest holds a consumer to the contract of a catalog: every golden
// event of it, duplicates, disorder, fields that are missing or unknown, versions. A
// consumer's own test is
//
//	func TestContract(t *testing.T) {
//		contracttest.Run(t, catalog, "notifications", func(t *testing.T) contracttest.Consumer {
//			n := newNotifications(t)
//			return contracttest.Consumer{Handle: n.Handle, Effects: func() any { return n.Sent() }}
//		})
//	}
//
// The golden events are made after the examples of each event's schema, and are the
// same in every run.
package contracttest
