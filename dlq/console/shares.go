package console

import (
	"fmt"

	"outboxrelay/dlq/admin"
)

// shardName is how an outbox, or one shard of it, is called: by the number that its
// records, the admin API and the table of outboxes say, from 0.
func shardName(o admin.OutboxStatus) string {
	if o.Shards < 2 {
		return o.Outbox
	}
	return fmt.Sprintf("%s (shard %d of %d)", o.Outbox, o.Shard, o.Shards)
}

// distinctOutboxes is how many outboxes there are: of one that is split, each shard is listed.
func distinctOutboxes(list *admin.OutboxList) int {
	names := make(map[string]bool)
	for _, o := range list.Items {
		names[o.Outbox] = true
	}
	return len(names)
}

// outboxesInWords counts the outboxes, and their shards where one is split.
func outboxesInWords(list *admin.OutboxList) string {
	n := distinctOutboxes(list)
	text := plural(n, "outbox", "outboxes")
	if len(list.Items) > n {
		text += fmt.Sprintf(" in %d shards", len(list.Items))
	}
	return text
}

// elsewhereInWords tells how much of them others relay; "" for nothing.
func elsewhereInWords(list *admin.OutboxList) string {
	others := 0
	for _, o := range list.Items {
		if o.Owner != "" && !o.Here {
			others++
		}
	}
	n := distinctOutboxes(list)
	switch {
	case others == 0:
		return ""
	case len(list.Items) > n:
		return fmt.Sprintf("%d of %d shards of %s", others, len(list.Items), plural(n, "outbox", "outboxes"))
	default:
		return fmt.Sprintf("%d of %s", others, plural(n, "outbox", "outboxes"))
	}
}
