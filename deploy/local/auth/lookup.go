package auth

import "strconv"

type lookupRequest struct {
	LocalID []string `json:"localId"`
	Email   []string `json:"email"`
	IDToken string   `json:"idToken"` // of a client that asks for itself
}

type lookupResponse struct {
	Kind string `json:"kind"`
	// Users are those that were found. Without any the field is absent, which
	// Admin SDKs take for "not found".
	Users []userInfo `json:"users,omitempty"`
}

func lookup(c *call, p *project, req lookupRequest) (any, change, error) {
	answer := lookupResponse{Kind: "identitytoolkit#GetAccountInfoResponse"}
	if !c.admin {
		a, _, err := p.signedIn(req.IDToken)
		if err != nil {
			return nil, change{}, err
		}
		a.PasswordHash, a.Salt = "", ""
		answer.Users = []userInfo{a.info()}
		return answer, change{}, nil
	}
	seen := map[string]bool{}
	add := func(a account, ok bool) {
		if ok && !seen[a.LocalID] {
			seen[a.LocalID] = true
			answer.Users = append(answer.Users, a.info())
		}
	}
	for _, id := range req.LocalID {
		a, ok := p.accounts[id]
		add(a, ok)
	}
	for _, email := range req.Email {
		add(p.withEmail(email))
	}
	return answer, change{}, nil
}

const (
	defaultPage = 20
	maxPage     = 1000
)

type batchGetResponse struct {
	Kind          string     `json:"kind"`
	Users         []userInfo `json:"users,omitempty"`
	NextPageToken string     `json:"nextPageToken,omitempty"` // the last ID of this page
}

// batchGet lists accounts by ID, a page at a time.
func batchGet(c *call, p *project) (any, change, error) {
	if c.query.Has("tenantId") {
		return nil, change{}, unsupported("parameter tenantId")
	}
	size, _ := strconv.Atoi(c.query.Get("maxResults"))
	if size <= 0 {
		size = defaultPage
	}
	size = min(size, maxPage)
	answer := batchGetResponse{Kind: "identitytoolkit#DownloadAccountResponse"}
	accounts := p.sorted(c.query.Get("nextPageToken"))
	if len(accounts) >= size {
		accounts = accounts[:size]
		answer.NextPageToken = accounts[size-1].LocalID
	}
	for _, a := range accounts {
		answer.Users = append(answer.Users, a.info())
	}
	return answer, change{}, nil
}

type queryRequest struct {
	ReturnUserInfo *bool  `json:"returnUserInfo"`
	SortBy         string `json:"sortBy"`
	Order          string `json:"order"`
}

type queryResponse struct {
	RecordsCount int        `json:"recordsCount,string"`
	UserInfo     []userInfo `json:"userInfo,omitempty"`
}

// query counts the accounts, or lists them all by ID.
func query(_ *call, p *project, req queryRequest) (any, change, error) {
	answer := queryResponse{RecordsCount: len(p.accounts)}
	if req.ReturnUserInfo != nil && !*req.ReturnUserInfo {
		return answer, change{}, nil
	}
	switch {
	case req.SortBy != "" && req.SortBy != "SORT_BY_FIELD_UNSPECIFIED" && req.SortBy != "USER_ID":
		return nil, change{}, unsupported("sorting by " + req.SortBy)
	case req.Order != "" && req.Order != "ORDER_UNSPECIFIED" && req.Order != "ASC":
		return nil, change{}, unsupported("order " + req.Order)
	}
	for _, a := range p.sorted("") {
		answer.UserInfo = append(answer.UserInfo, a.info())
	}
	return answer, change{}, nil
}
