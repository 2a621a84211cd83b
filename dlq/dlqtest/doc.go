// Package dlqtest makes dead letters as the relay makes them, and runs the siblings
// that look after them over a Firestore of the test's own. Only tests import it.
package dlqtest
