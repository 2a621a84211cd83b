// Package lanes runs work in priority pools. Each lane is a [Pool] with workers
// of its own, so that a flood in one lane takes nothing from another. Within a
// pool, tasks of one aggregate run one after another in version order, and
// aggregates take turns.
//
// A task is in one of three places:
//
//	Submit ──▶ queued ──take──▶ running ──Done, Drop──▶ gone
//	             ▲                 │
//	             ├──────Again──────┤
//	             └──At, Wake── waiting ◀──Retry
//
// A task that waits for its retry holds back the higher versions of its own
// aggregate and nothing else.
//
// Workers are shared by what tasks need, their targets: the runs that wait for a
// target have [Config].Share of the workers at most, so that one that answers slowly
// leaves some to the others. A run waits for the needs of all its tasks, until
// [Pool.WaitsFor] tells that some are met.
//
// The package knows neither where tasks come from nor where they go.
package lanes
