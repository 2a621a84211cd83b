package publisher

// run is what is published of one aggregate in a round, oldest first.
type run []*row

// agenda is what may go of the rows that a claim locked.
type agenda struct {
	runs      []run
	parked    []*row // heads that hold back their aggregate
	timeless  []*row // heads that no message can be made of
	shapeless []*row // heads whose payload is no JSON object
}

// plan tells what of the locked rows may go: of each aggregate the piece without a gap from its
// head on, up to a row whose attempts are used up or that no message can be made of, or no envelope. rows are in the order of their claim, oldest
// first, and so are the runs, by their heads. each is how many of an aggregate may go, 0: all of
// them; at an open breaker it is one.
func plan(rows []*row, maxAttempts, each int) agenda {
	var a agenda
	at := map[aggregate]int{}     // index of its run
	ended := map[aggregate]bool{} // whose run is whole
	for _, r := range rows {
		i, begun := at[r.aggregate]
		next := int64(1)
		if begun {
			next += int64(len(a.runs[i]))
		}
		switch {
		case ended[r.aggregate]:
		case r.place != next, each > 0 && next > int64(each):
			ended[r.aggregate] = true
		case r.attempts >= maxAttempts:
			ended[r.aggregate] = true
			if !begun {
				a.parked = append(a.parked, r)
			}
		case r.timeless: // it is not for the topic to refuse, whose breaker would take that for an answer
			ended[r.aggregate] = true
			if !begun {
				a.timeless = append(a.timeless, r)
			}
		case r.shapeless:
			ended[r.aggregate] = true
			if !begun {
				a.shapeless = append(a.shapeless, r)
			}
		case begun:
			a.runs[i] = append(a.runs[i], r)
		default:
			at[r.aggregate] = len(a.runs)
			a.runs = append(a.runs, run{r})
		}
	}
	return a
}
