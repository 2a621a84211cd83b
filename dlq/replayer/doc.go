// Package replayer replays the dead letters that are due, through the lanes that
// they came from: the siblings' one way of delivering again. There is one Replayer
// for each tier. That of SAFE_AUTO is a sibling by itself; the others are parts of
// the review queue and of the freezer.
package replayer
