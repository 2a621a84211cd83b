package notifications

import (
	"context"
	"fmt"
	"slices"

	"cloud.google.com/go/firestore"
)

// usersPage is how many people are asked for at once.
const usersPage = 500

// roles are those that a scope means.
var roles = map[Scope][]string{
	Admins:              {"admin"},
	AdminsAndAssistants: {"admin", "admin-assistant"},
}

// recipients finds whom an event is for, each once. Those who are not active are left out;
// when nobody is left it is who created the event, in a condominium without anybody as well:
// its people need not have documents. What is read is not locked, as the answer is written
// down once, with the queue document.
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

// named finds those people that the event names, in its order. Nobody is left out for
// having no document.
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
			if active(user) {
				ids = append(ids, user.Ref.ID)
			}
		}
	}
	return ids, nil
}

// active reports that nothing says otherwise: the field, or the whole document, is not
// there, or it is true.
func active(user *firestore.DocumentSnapshot) bool {
	value, err := user.DataAt(fieldActive)
	return err != nil || value == true
}
