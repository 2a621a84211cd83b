package relay

import (
	"context"
	"errors"
	"time"

	"outboxrelay/dlq"
)

// wantedWithin bounds the look whether a replay is still wanted: a worker of its
// lane waits for it.
const wantedWithin = 2 * time.Second

// errUnwanted ends the replays that were withdrawn, or whose dead letters were
// discarded, while they waited.
var errUnwanted = errors.New("it is not to be replayed any more")

// wanted reports whether a replay whose turn it is is still to be delivered; one
// that is not has ended. It is asked once the replay has waited for a while. What
// is decided from here on comes too late to stop it.
func (r *Relay) wanted(ctx context.Context, p *replay) bool {
	if p.finished() {
		return false
	}
	if r.queue == nil || r.now().Sub(p.readAt) < r.tuning.ReplayRecheck {
		return true
	}
	ctx, cancel := context.WithTimeout(ctx, wantedWithin)
	defer cancel()
	item, err := r.queue.Item(ctx, p.item.ID)
	if err == nil && !stillWanted(p.item, item) {
		err = errUnwanted
	}
	switch {
	case err == nil:
	case len(p.round.Acked)+len(p.round.Failed) > 0: // of a turn before, which counts
		p.round.Blocked, p.round.Missing = append(p.round.Blocked, p.targets...), p.missing
		p.finish(p.round, nil)
		return false
	default:
		p.finish(dlq.Round{}, err)
		return false
	}
	p.readAt = r.now()
	return true
}

// stillWanted reports whether the replay for which an item was read is to be
// made as the item stands now: as it stood then, or about to be replayed.
func stillWanted(was, is *dlq.Item) bool {
	_, ends := dlq.Next(is.Place(), dlq.Delivered)
	return (ends || is.Place() == was.Place()) && is.Replays == was.Replays && is.DeadAt.Equal(was.DeadAt)
}
