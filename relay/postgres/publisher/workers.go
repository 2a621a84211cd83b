package publisher

// workers run calls at the same time. A goroutine that has run one waits for the next, on the stack that has grown
// for it: a publish goes so deep that a new goroutine's would be copied three times.
type workers struct{ calls chan func() }

func newWorkers() *workers { return &workers{calls: make(chan func())} }

// do has call run by a goroutine that is idle, or by a new one: there are as many as ran at the same time.
func (w *workers) do(call func()) {
	select {
	case w.calls <- call:
	default:
		go w.work(call)
	}
}

func (w *workers) work(call func()) {
	for more := true; more; call, more = <-w.calls {
		call()
	}
}

// end lets them go, once nothing more is to be done.
func (w *workers) end() { close(w.calls) }
