package relay

import "context"

// pageTries is how often one page of a read of many is tried before all of it begins
// anew: where a fifth of the calls fail, a read of 30 pages comes to its end 19 times of
// 20, which by one try for each it does once in 800.
const pageTries = 4

// patiently has one page of a read of many tried a few times, each within the time that
// one read may take.
func (t Tuning) patiently(ctx context.Context, read func(context.Context) error) error {
	delay := t.retryDelay()
	for tries := 1; ; tries++ {
		err := t.within(ctx, read)
		if err == nil || tries == pageTries || !delay.sleep(ctx) {
			return err
		}
	}
}

// within reads within the time that one read may take.
func (t Tuning) within(ctx context.Context, read func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, t.CommitTimeout)
	defer cancel()
	return read(ctx)
}
