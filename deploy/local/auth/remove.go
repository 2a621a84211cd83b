package auth

type removeRequest struct {
	LocalID string `json:"localId"` // the administrator's
	IDToken string `json:"idToken"` // a client's, for its own account
}

// remove deletes one account.
func remove(c *call, p *project, req removeRequest) (any, change, error) {
	id := req.LocalID
	if c.admin {
		if id == "" {
			return nil, change{}, refuse("MISSING_LOCAL_ID")
		}
		if _, ok := p.accounts[id]; !ok {
			return nil, change{}, refuse("USER_NOT_FOUND")
		}
	} else {
		a, _, err := p.signedIn(req.IDToken)
		if err != nil {
			return nil, change{}, err
		}
		id = a.LocalID
	}
	return map[string]string{"kind": "identitytoolkit#DeleteAccountResponse"}, change{Remove: []string{id}}, nil
}

// maxBatchDelete is how many accounts one call may delete.
const maxBatchDelete = 1000

type batchDeleteRequest struct {
	LocalIDs []string `json:"localIds"`
	Force    bool     `json:"force"` // those that are not disabled, too
}

type batchDeleteError struct {
	Index   int    `json:"index"`
	LocalID string `json:"localId"`
	Message string `json:"message"`
}

type batchDeleteResponse struct {
	Errors []batchDeleteError `json:"errors,omitempty"`
}

// batchDelete deletes what it can. An account that does not exist is no error.
func batchDelete(_ *call, p *project, req batchDeleteRequest) (any, change, error) {
	if n := len(req.LocalIDs); n == 0 || n > maxBatchDelete {
		return nil, change{}, refuse("LOCAL_ID_LIST_EXCEEDS_LIMIT")
	}
	var answer batchDeleteResponse
	var gone []string
	for i, id := range req.LocalIDs {
		a, ok := p.accounts[id]
		switch {
		case !ok:
		case !a.Disabled && !req.Force:
			answer.Errors = append(answer.Errors, batchDeleteError{i, id, "NOT_DISABLED : Disable the account before batch deletion."})
		default:
			gone = append(gone, id)
		}
	}
	return answer, change{Remove: gone}, nil
}

// deleteAll empties a project.
func deleteAll(*call, *project) (any, change, error) {
	return struct{}{}, change{Clear: true}, nil
}
