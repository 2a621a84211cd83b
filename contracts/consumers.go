package contracts

import "slices"

// Concerns reports whether a consumer is to act on rec, or else to acknowledge it
// without an effect: an event, or a version of one, that names others only comes to
// it by a topic that they have in common. A consumer that the catalog names nowhere
// is to act on everything, as is every one on an event that names nobody.
func (c *Catalog) Concerns(consumer string, rec *Record) bool {
	var route *EventRoute
	if o := c.Outbox(rec.Outbox); o != nil {
		route = o.RouteOf(rec.EventType, rec.EventVersion)
	}
	return route == nil || len(route.Consumers) == 0 || slices.Contains(route.Consumers, consumer) || !c.names(consumer)
}

// names reports whether some event names the consumer.
func (c *Catalog) names(consumer string) bool {
	return slices.ContainsFunc(c.Outboxes, func(o *Outbox) bool {
		return slices.ContainsFunc(o.Events, func(e *EventRoute) bool { return slices.Contains(e.Consumers, consumer) })
	})
}
