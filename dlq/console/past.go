package console

import (
	"crypto/rand"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// anyTopic stands for all topics: more may have changed than is told.
const anyTopic = "*"

// maxPast is how many changes are remembered.
const maxPast = 1024

// past remembers the latest changes, so that none is lost between the moment
// at which a page was made and the one at which it begins to listen, nor
// between two streams of it.
type past struct {
	instance string // positions of another process say nothing here
	first    uint64 // number of the oldest topic that is remembered
	topics   []string
}

func newPast() past { return past{instance: rand.Text()} }

func (p *past) add(topics []string) {
	p.topics = append(p.topics, topics...)
	if over := len(p.topics) - maxPast; over > 0 {
		p.topics = slices.Delete(p.topics, 0, over)
		p.first += uint64(over)
	}
}

// position names the moment right behind the last change.
func (p *past) position() string {
	return fmt.Sprintf("%s.%d", p.instance, p.first+uint64(len(p.topics)))
}

// changed reports whether a topic has, or may have, changed since a position.
func (p *past) changed(topic, since string) bool {
	instance, number, _ := strings.Cut(since, ".")
	n, err := strconv.ParseUint(number, 10, 64)
	if instance != p.instance || err != nil || n < p.first || n > p.first+uint64(len(p.topics)) {
		return true
	}
	return slices.ContainsFunc(p.topics[n-p.first:], func(t string) bool { return t == topic || t == anyTopic })
}
