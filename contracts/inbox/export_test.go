package inbox

// Remembered is how many events a store remembers.
func Remembered(m *Memory) int { return len(m.events) }

// Held is how many messages an inbox holds.
func Held(i *Inbox) int { return len(i.held) }
