package cost

import (
	"fmt"
	"strings"
)

// QueueCost is what one document of a work queue costs, wherever it is paid, and in a month.
type QueueCost struct {
	Queue   string     `json:"queue"`
	Of      string     `json:"of"`
	Rate    float64    `json:"perSecond"`
	Each    Operations `json:"operationsOfEach"`
	Million float64    `json:"costOfMillion"`
}

// costs are those of the queues that are served.
func (q Queues) costs(instances int, prices map[Article]Price) []QueueCost {
	out := []QueueCost{}
	add := func(queue, of string, rate float64, each Operations) {
		if rate == 0 {
			return
		}
		out = append(out, QueueCost{queue, of, rate, each, each.Times(1e6).price(prices)})
	}
	add(queueJobs, fmt.Sprintf("jobs over %s, %s of each domain event", q.Channel, number(q.JobsOfEvent)), q.Jobs,
		Emit(q.JobsOfEvent).Times(1/q.JobsOfEvent).Plus(Job(q.Channel, instances)))
	add(queueNotifications, fmt.Sprintf("notifications, of events for %s people each", number(q.Recipients)), q.Notifications*q.Recipients,
		Create().Plus(Notification(q.Recipients, instances)).Times(1/q.Recipients))
	return out
}

// price is what the operations cost.
func (o Operations) price(prices map[Article]Price) (sum float64) {
	for article, n := range map[Article]float64{
		FirestoreReads: o.Reads, FirestoreWrites: o.Writes, FirestoreDeletes: o.Deletes, FirestoreExpired: o.Expired,
	} {
		sum += n / units[article].size * prices[article].Price
	}
	return sum
}

// The table of docs/SIZING.md about work queues stands between these.
const (
	queuesBegin = "<!-- work queues: written by go generate ./cmd/outbox-relay/cost -->"
	queuesEnd   = "<!-- end of work queues -->"
)

func queueTables() (string, error) {
	list, err := BuiltInPrices()
	if err != nil {
		return "", err
	}
	const region = "europe-west1"
	prices, err := list.In(region)
	if err != nil {
		return "", err
	}
	var out strings.Builder
	fmt.Fprintf(&out, "\n| in %s at the list prices of %s | instances | reads | writes | deletes by TTL | %s a million |\n|---|---:|---:|---:|---:|---:|\n", region, list.Date, list.Currency)
	row := func(what string, instances int, o Operations) {
		fmt.Fprintf(&out, "| %s | %d | %s | %s | %s | %s |\n", what, instances, number(o.Reads), number(o.Writes), number(o.Expired), money(o.Times(1e6).price(prices)))
	}
	for _, instances := range []int{1, 2} {
		for _, channel := range []string{ChannelInApp, ChannelEmail, ChannelPubSub} {
			row("a job over `"+channel+"`, with its domain event", instances, Emit(1).Plus(Job(channel, instances)))
		}
		row("one of ten jobs of a domain event, `in_app`", instances, Emit(10).Times(0.1).Plus(Job(ChannelInApp, instances)))
		for _, people := range []float64{2, 20, 400, 1000} {
			row(fmt.Sprintf("an event of notifications for %s people", number(people)), instances, Create().Plus(Notification(people, instances)))
		}
	}
	idle := Fleet{Instances: 1}.WorkQueues(1).Times(secondsOfMonth)
	fmt.Fprintf(&out, "\nA queue that is served and idle reads %s documents a month in each instance: %s %s.\n\n", number(idle.Reads), money(idle.price(prices)), list.Currency)
	return out.String(), nil
}
