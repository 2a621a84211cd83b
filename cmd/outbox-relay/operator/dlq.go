// Package operator is what an operator asks of a running service, over its admin API:
// the commands dlq, for dead letters and frozen aggregates, and lanes.
package operator

// DLQ groups what can be done about dead letters over the admin API.
type DLQ struct {
	List      listCmd      `cmd:"" help:"List dead letters, newest first; open ones unless --any or --state is given."`
	Show      showCmd      `cmd:"" help:"Show one dead letter: what happened, and what may be done now."`
	Groups    groupsCmd    `cmd:"" help:"Count dead letters by event type and error."`
	Replay    replayCmd    `cmd:"" help:"Deliver a dead letter now, to the targets that still lack it."`
	Discard   discardCmd   `cmd:"" help:"Give a dead letter up."`
	Authorize authorizeCmd `cmd:"" help:"Allow the replay of a SECURITY_BLOCK dead letter."`
	Withdraw  withdrawCmd  `cmd:"" help:"Take back the replay that was asked for, and an authorization."`
	Note      noteCmd      `cmd:"" help:"Write something down about a dead letter."`
	Release   releaseCmd   `cmd:"" help:"Let the held records of a frozen aggregate go on."`
	Freezes   freezesCmd   `cmd:"" help:"List frozen aggregates."`
	Bulk      bulkCmd      `cmd:"" help:"Replay all dead letters of a selection, at a rate."`
	Bulks     bulksCmd     `cmd:"" help:"List bulk replays."`
	Follow    followCmd    `cmd:"" help:"Follow a bulk replay to its end."`
	Cancel    cancelCmd    `cmd:"" help:"Cancel a bulk replay."`
	Trace     traceCmd     `cmd:"" help:"Tell all that is known of a trace, as a timeline."`
	Audit     auditCmd     `cmd:"" help:"List who decided what, newest first."`
}

// dlqExits is told by every help of a dlq command.
const dlqExits = `

Exit codes: 0 done; 1 failed, as when the service cannot be reached; 2 flags or values are wrong; 5 refused: it is not in that state, something else comes first, or somebody was faster; 6 not found; 7 not allowed: no valid token, or not the role; 8 not all was delivered: a bulk replay was stopped or cancelled, some of it failed or was passed over, or a replay that was waited for failed; 10 it goes on, and its end was not seen: the waiting was interrupted, or the service did not answer for a minute.`
