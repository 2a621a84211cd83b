package restore

import "outboxrelay/dlq"

// settleAll settles documents in one commit, or one by one where Firestore refused one of
// them; refused then tells what became of that. One that somebody else changed meanwhile is left.
func settleAll[T any](found []T, commit func([]T) error, refused func(T, error) (settled int, err error)) (settled int, err error) {
	err = commit(found)
	switch {
	case err == nil:
		return len(found), nil
	case !dlq.IsRefused(err):
		return 0, err
	case len(found) == 1:
		return refused(found[0], err)
	}
	for i := range found {
		n, err := settleAll(found[i:i+1], commit, refused)
		settled += n
		if err != nil {
			return settled, err
		}
	}
	return settled, nil
}
