package notifications

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"cloud.google.com/go/firestore"
	"google.golang.org/api/iterator"
)

// usersPage is how many people are asked for at once.
const usersPage = 500

// errGone is of an event whose tenant has nobody and nothing left.
var errGone = errors.New("the condominium is gone: neither it nor anybody in it is left")

// roles are those that a scope means.
var roles = map[Scope][]string{
	Admins:              {"admin"},
	AdminsAndAssistants: {"admin", "admin-assistant"},
}

// recipients finds whom an event is for, each once. Those who are gone or not active are
// left out; when nobody is left it is who created the event. What is read is not locked, as
// the answer is written down once, with the queue document.
func recipients(ctx context.Context, client *firestore.Client, e event) ([]string, error) {
	var found []string
	var err error
	if e.scope == SpecificUsers {
		found, err = named(ctx, client, e)
	} else {
		found, err = withRole(ctx, client, e)
	}
	if err != nil || len(found) > 0 {
		return found, err
	}
	if err := tenantStands(ctx, client, e); err != nil {
		return nil, err
	}
	return []string{e.createdBy}, nil
}

// withRole finds the people of a role, by pages in the order of their IDs.
func withRole(ctx context.Context, client *firestore.Client, e event) (ids []string, err error) {
	query := client.Collection(e.tenant.Path()+"/"+CollectionUsers).
		Where(fieldRole, "in", roles[e.scope]).OrderBy(firestore.DocumentID, firestore.Asc).Select(fieldActive).Limit(usersPage)
	for page := query; ; {
		users, err := page.Documents(ctx).GetAll()
		if err != nil {
			return nil, fmt.Errorf("find the people of scope %s: %w", e.scope, err)
		}
		for _, user := range users {
			if active(user) {
				ids = append(ids, user.Ref.ID)
			}
		}
		if len(users) < usersPage || len(ids) > maxRecipients { // the rest would be read in vain
			return ids, nil
		}
		page = query.StartAfter(users[len(users)-1].Ref.ID)
	}
}

// named finds those people that the event names, in its order.
func named(ctx context.Context, client *firestore.Client, e event) (ids []string, err error) {
	users := client.Collection(e.tenant.Path() + "/" + CollectionUsers)
	for chunk := range slices.Chunk(e.userIDs, usersPage) {
		if len(ids) > maxRecipients {
			break // the rest would be read in vain
		}
		refs := make([]*firestore.DocumentRef, len(chunk))
		for i, id := range chunk {
			refs[i] = users.Doc(id)
		}
		snaps, err := client.GetAll(ctx, refs)
		if err != nil {
			return nil, fmt.Errorf("find the people that the event names: %w", err)
		}
		for _, user := range snaps {
			if user.Exists() && active(user) {
				ids = append(ids, user.Ref.ID)
			}
		}
	}
	return ids, nil
}

// active reports that nothing says otherwise: the field is not there, or true.
func active(user *firestore.DocumentSnapshot) bool {
	value, err := user.DataAt(fieldActive)
	return err != nil || value == true
}

// tenantStands tells a condominium where nobody is meant from one that was deleted. A
// condominium need not have a document of its own, so anybody in it will do.
func tenantStands(ctx context.Context, client *firestore.Client, e event) error {
	users := client.Collection(e.tenant.Path() + "/" + CollectionUsers)
	snaps, err := client.GetAll(ctx, []*firestore.DocumentRef{client.Doc(e.tenant.Path()), users.Doc(e.createdBy)})
	if err != nil {
		return fmt.Errorf("look for the condominium: %w", err)
	}
	for _, s := range snaps {
		if s.Exists() {
			return nil
		}
	}
	anybody := users.Limit(1).Documents(ctx)
	defer anybody.Stop()
	switch _, err := anybody.Next(); {
	case errors.Is(err, iterator.Done):
		return errGone
	case err != nil:
		return fmt.Errorf("look for anybody in the condominium: %w", err)
	}
	return nil
}
