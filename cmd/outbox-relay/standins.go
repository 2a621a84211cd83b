package main

import (
	"fmt"
	"slices"
	"strings"

	"outboxrelay/cmd/outbox-relay/shell"
	"outboxrelay/contracts"
)

// standInFlags give handler targets a topic to go to.
type standInFlags struct {
	StandIn []string `env:"STAND_IN" placeholder:"TARGET=TOPIC" help:"Topic that a handler target of the catalog gets in place of its handler."`
}

// Validate names the first malformed pair.
func (f standInFlags) Validate() error {
	_, err := f.topics()
	return err
}

func (f standInFlags) topics() (map[string]string, error) {
	topics := map[string]string{}
	for _, pair := range f.StandIn {
		if pair == "" {
			continue
		}
		target, topic, ok := strings.Cut(pair, "=")
		if !ok || target == "" || topic == "" {
			return nil, fmt.Errorf("--stand-in %q: want TARGET=TOPIC", pair)
		}
		if other, again := topics[target]; again {
			return nil, fmt.Errorf("--stand-in gives target %s two topics, %s and %s: keep one of them", target, other, topic)
		}
		topics[target] = topic
	}
	return topics, nil
}

// apply gives the catalog's handler targets their stand-ins. A handler target
// that has neither one nor a handler in this program is an error, as nothing
// would take its records.
func (f standInFlags) apply(catalog *contracts.Catalog) (*contracts.Catalog, error) {
	topics, err := f.topics()
	if err != nil {
		return nil, shell.Usagef("%w", err)
	}
	with, err := catalog.WithTopics(topics)
	if err != nil {
		return nil, shell.Usagef("%w", err)
	}
	var missing []string
	for name, target := range with.Targets {
		if target.Kind == contracts.KindHandler && name != claimsTarget {
			missing = append(missing, name)
		}
	}
	if len(missing) > 0 {
		slices.Sort(missing)
		return nil, shell.Usagef("the catalog's target %s is a handler, and none is registered: give it a topic with --stand-in %s=TOPIC",
			strings.Join(missing, ", "), missing[0])
	}
	return with, nil
}
