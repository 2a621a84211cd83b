// Package follower tells who looks on of what changes in the dead-letter queue, on
// whatever instance it was changed.
package follower
