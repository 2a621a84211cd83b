package relay

import "context"

// metered is a Store that counts the documents of an outbox that its queries
// cost, as Firestore bills them: at least one for each query, and one for each
// thousand that are counted. What is read by its ID is rare, and not counted.
type metered struct {
	Store
	metrics *Metrics
}

// Ways of reading, as metric labels.
const (
	readByListener = "listener"
	readByPage     = "page"
	readByCount    = "count"
)

// countedAtOnce is how many documents are counted for the price of one read.
const countedAtOnce = 1000

// Page implements Store.
func (m metered) Page(ctx context.Context, s Scan) ([]Doc, error) {
	page, err := m.Store.Page(ctx, s)
	if err == nil {
		m.metrics.read(s.Outbox, readByPage, max(1, len(page)))
	}
	return page, err
}

// Count implements Store.
func (m metered) Count(ctx context.Context, scans ...Scan) ([]int64, error) {
	counts, err := m.Store.Count(ctx, scans...)
	for i, n := range counts {
		m.metrics.read(scans[i].Outbox, readByCount, max(1, (int(n)+countedAtOnce-1)/countedAtOnce))
	}
	return counts, err
}

// read counts documents that were read.
func (m *Metrics) read(outbox, by string, documents int) {
	m.reads.WithLabelValues(outbox, by).Add(float64(documents))
}
