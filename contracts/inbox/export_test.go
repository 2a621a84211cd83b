package inbox

import "time"

// Remembered is how many events a store remembers.
func Remembered(m *Memory) int { return len(m.events) }

// Held is how many messages an inbox holds.
func Held(i *Inbox) int { return len(i.held) }

// MeetOutage has an event meet an outage, and returns how long it waits.
func MeetOutage(i *Inbox, eventID string) time.Duration {
	return i.outages.met(eventID, i.opts.Delays[0])
}

// Outages is of how many events an inbox knows that they met one.
func Outages(i *Inbox) int { return len(i.outages.row) }
