// Package relay watches outbox collections and sees each record to its end:
// delivered to every target, or in the dead-letter queue.
//
// The way of a record: a reader finds it (pages while its lane is behind, a
// listener once it has caught up) and its feed takes it into memory (package
// relay/feed decides that, and all that follows, one event at a time); its lane
// hands it to a worker in the order of its aggregate; the router delivers it; the
// settler writes what became of it. Until that commit the document stays as it
// was, so a crash at any instruction means that it is read again.
//
// # Who comes back to what
//
// Recovery goes by what stands in Firestore, not by what somebody was told. For
// each state in which a document may stand, whoever left it so, one that runs
// comes back to it by itself: without a restart, without a bell, without a
// listener. The tests put a document into its state from outside, beside one
// that runs already. "Poll" is sibling.Config.Poll, "sweep"
// Tuning.SweepInterval; what is written by "the queue's owner" is done by the
// instance that has the lease of share "queue", which a crash passes on after a
// term. What waits for a person is shown by the admin API, the console and the
// metrics.
//
// A record, in its outbox:
//
//	pending, read by nobody yet            its owner's listener or page
//	                                       relay.TestDeliversSixOutboxesInOrder
//	pending, not told of by a listener     sweep, once it is SweepAge old
//	                                       relay.TestSweepFindsWhatAListenerMissed
//	pending, delivered but not marked      as pending: delivered again to the targets that are not noted in it
//	                                       relay.TestWhatWasBegunElsewhereIsFinished
//	pending, a lane that its outbox left   reader of that lane, which what follows begins
//	                                       relay.TestLeftLaneIsDeliveredInOrder
//	pending, a lane that there is not      listener for strays, and sweep, once it is SweepAge old
//	                                       relay.TestSweepFindsAStrayThatItsListenerMissed
//	pending, lane or createdAt missing     sweep, by counts
//	                                       relay.TestContractViolationsAreDeadLettered
//	retrying, in nobody's memory           sweep, once it is SweepAge old; at its nextAttemptAt
//	                                       relay.TestWhatWasBegunElsewhereIsFinished
//	retrying, its aggregate frozen         sweep: becomes held
//	                                       relay.TestRecordsOfAFrozenAggregateAreHeldWhateverTheyWere
//	retrying, its aggregate released       the thaw, before it lets younger ones go
//	                                       relay.TestReleaseLeftHalfDoneIsFinishedInOrder
//	held, its freeze frozen                a person: release
//	                                       relay.TestFreezeOfAnInstanceThatIsGoneHolds
//	held, its freeze releasing             the queue's owner, at each poll
//	                                       relay.TestReleaseLeftHalfDoneIsFinishedInOrder
//	held, no freeze                        sweep, unless a freeze stands after all
//	                                       relay.TestSweepLetsGoWhatIsHeldForNothing
//	held, no freeze, and it fills its      sweep: dead-lettered
//	document                               relay.TestSweepPassesAHeldRecordThatCannotBePending
//	no status, null, or an unknown one     sweep: dead-lettered
//	                                       relay.TestContractViolationsAreDeadLettered
//	no shard, or none that there is        listener of the first shard, and its sweep: dead-lettered
//	                                       relay.TestRecordsOfNoShard
//	dead                                   its dead letter, which is written by the same commit
//	                                       relay.TestDeadLetterAndStatusFailTogether
//	delivered                              nobody needs to; the TTL policy removes it
//	                                       relay.TestSettlesOnceThoughTheAnswerIsLost
//
// A freeze, in frozen-entities:
//
//	none, its burial not committed         as its record, which is retried: freeze, dead letter, alert and status are one commit
//	                                       relay.TestSecurityBlockFreezes
//	frozen, by a burial of another         each instance's watch, and its poll each SweepInterval
//	instance                               relay.TestFreezesAreSeenWithoutTheWatch
//	frozen, with nobody at work            a person: release
//	                                       relay.TestFreezeOfAnInstanceThatIsGoneHolds
//	in a state that nobody knows           as frozen
//	                                       relay.TestFreezeOfAnUnknownStateHolds
//	releasing, none or some put back       the queue's owner, at each poll
//	                                       dlq.TestReleaseLeftHalfDoneIsFinished
//	releasing, all put back                as before: deletes it
//	                                       dlq.TestReleaseLeftHalfDoneIsFinished
//	gone, records pending                  each instance's watch and poll; then the thaw, in order
//	                                       relay.TestReleaseFindsWhatNoListenerSees
//
// A dead letter, in dead-letter-queue:
//
//	scheduled, and due                     the replayer of its outbox's owner, at each poll
//	                                       dlq/replayer.TestLookWithoutBeingTold
//	scheduled, behind an older one         the replayer, half a minute later at most
//	                                       dlq/replayer.TestYoungerWaitsForOlder
//	scheduled, awaiting_review or          the sibling of its tier at its outbox's owner, at each poll
//	authorized, a replay asked for         dlq.TestRequestLeftBehindIsCarriedOutInEveryTier
//	the same, the replay under way         as before: once more, to the targets still missing
//	                                       relay.TestReplayLeftUnderWayIsCarriedOut
//	the same, its target out               as before, after a pause of PauseMax at most
//	                                       dlq/replayer.TestOutageOfATargetCountsNothing
//	awaiting_review, blocked, authorized   a person: replay, authorize, discard
//	                                       dlq/firestore.TestModel
//	its outbox not in the catalog          a person: discard
//	                                       dlq/firestore.TestOrphans
//	replayed, discarded                    nobody needs to
//	                                       dlq/firestore.TestModel
//
// A bulk replay, in bulk-replays, and its pinned items:
//
//	pinned items, and no bulk replay       nobody: nothing refers to them, and who asked was told that it failed
//	                                       dlq/bulk.TestSameKeyIsAnsweredWithTheFasterOne
//	running, half done                     the queue's owner, at each poll
//	                                       dlq.TestBulkLeftHalfDoneGoesOn
//	cancelled or stopped, not settled      as before: follows what was asked for, and asks for nothing more
//	                                       dlq.TestCancelledBulkLeftHalfDoneIsFollowed
//	running, its pinned items lost         as before: stopped
//	                                       dlq/bulk.TestBulkWithoutItsPinsStops
//	done                                   nobody needs to
//	                                       dlq/bulk.TestBulkReplaysWhatWasPinned
//
// Others:
//
//	an alert that is not published         the queue's owner, at each poll
//	                                       dlq.TestAlertLeftUnpublishedIsPublished
//	an alert published and not marked      as before: published again
//	                                       dlq/freezer.TestAlertSurvivesACrashBeforeItIsMarked
//	a lane paused                          a person: resume; each instance's watch and poll
//	                                       relay.TestPauseStopsALaneOnEveryInstance
//	a lease, its owner gone                whoever the plan says, at the end of the owner's term
//	                                       relay/lease.TestCrash
//	a lease or registration, half taken,   as before
//	half released                          relay/lease.TestHalfTaken
//	a lease whose taking was not answered  the instance itself, at its next look
//	                                       relay/lease.TestLostAnswers
//	a registration, its instance gone      the queue's owner, after ten terms: deleted
//	                                       relay/lease.TestDeadRegistrationsAreDeleted
//	a claims snapshot, the user's claims   the next attempt at the record that made it, which is pending or retrying; or any
//	not set, or tokens not revoked         other record of the account
//	                                       claims.TestDeathBetweenSteps
//	claims set, TOKEN_REFRESH_SIGNAL not   as before
//	written or not published               claims.TestLeftBetweenTheClaimsAndTheSignal
package relay
