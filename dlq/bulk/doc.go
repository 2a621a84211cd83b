// Package bulk runs the bulk replays: each asks for the replays of what was pinned
// when it was made, a few first and the rest ever faster, follows them to their ends,
// and stops when too many fail. Who runs one need not be who began it: all that it
// knows stands in the queue.
package bulk
