package workqueue

import (
	"fmt"

	"cloud.google.com/go/firestore"
)

// still reads the claim's document in tx and returns it, or ErrLost.
func (c *Claim) still(tx *firestore.Transaction) (*firestore.DocumentSnapshot, error) {
	snap, err := readIn(tx, c.Ref)
	if err != nil {
		return nil, err
	}
	if now := c.queue.vocabulary.look(snap); !snap.Exists() || !now.processing || now.owner != c.Token {
		return snap, ErrLost
	}
	return snap, nil
}

// readIn reads a document in tx. One that is not there is no error.
func readIn(tx *firestore.Transaction, ref *firestore.DocumentRef) (*firestore.DocumentSnapshot, error) {
	snaps, err := tx.GetAll([]*firestore.DocumentRef{ref})
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", ref.ID, err)
	}
	return snaps[0], nil
}
