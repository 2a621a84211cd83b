package firestore

import (
	"context"
	"encoding/base64"
	"slices"
	"strings"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Pages of ListDocuments and ListCollectionIds.
const (
	defaultPage = 100
	maxPage     = 300
)

// ListDocuments lists a collection in the order of the documents' names.
func (s *Server) ListDocuments(_ context.Context, req *pb.ListDocumentsRequest) (*pb.ListDocumentsResponse, error) {
	database, parent, err := splitParent(req.GetParent())
	if err != nil {
		return nil, err
	}
	if by := req.GetOrderBy(); by != "" && by != nameField {
		return nil, unimplemented("ListDocumentsRequest.order_by other than __name__")
	}
	if req.GetCollectionId() == "" {
		return nil, unimplemented("ListDocuments without a collection ID")
	}
	after, err := pageStart(req.GetPageToken())
	if err != nil {
		return nil, err
	}
	mask, err := newProjection(req.GetMask())
	if err != nil {
		return nil, err
	}
	rd, err := s.reading(database, req.GetTransaction(), nil, req.GetReadTime())
	if err != nil {
		return nil, err
	}
	size := pageSize(req.GetPageSize())
	page := s.page(rd, joinPath(parent, req.GetCollectionId()), after, size+1, req.GetShowMissing())
	resp := &pb.ListDocumentsResponse{}
	if len(page) > size {
		page = page[:size]
		resp.NextPageToken = pageToken(page[size-1].id())
	}
	for _, r := range page {
		if r.created == 0 { // missing: it has nothing but a name
			resp.Documents = append(resp.Documents, &pb.Document{Name: database + "/documents/" + r.path})
			continue
		}
		if rd.tx != nil {
			rd.tx.sawRecord(r.path, r)
		}
		resp.Documents = append(resp.Documents, r.document(database, mask))
	}
	s.billing.read(req.GetCollectionId(), max(1, len(page)))
	return resp, nil
}

// page reads at most n documents of a collection after an ID. Missing documents
// are those that have only documents below them.
func (s *Server) page(rd reading, collection, after string, n int, missing bool) []*record {
	s.mu.RLock()
	defer s.mu.RUnlock()
	docs := rd.db.docs
	if rd.tx != nil {
		docs = rd.tx.docs
	}
	var page []*record
	docs.Ascend(newRecord(collection+"/"+after, 0, 0, nil), func(r *record) bool {
		if r.parent() != collection || len(page) == n {
			return false
		}
		if r.id() != after {
			page = append(page, r)
		}
		return true
	})
	if !missing {
		return page
	}
	prefix := collection + "/"
	eachCollection(docs, func(below string) {
		if rest, ok := strings.CutPrefix(below, prefix); ok {
			id, _, _ := strings.Cut(rest, "/")
			if id > after && find(docs, prefix+id) == nil {
				page = append(page, newRecord(prefix+id, 0, 0, nil))
			}
		}
	})
	slices.SortFunc(page, func(a, b *record) int { return strings.Compare(a.path, b.path) })
	page = slices.CompactFunc(page, func(a, b *record) bool { return a.path == b.path })
	return page[:min(n, len(page))]
}

// ListCollectionIds lists the collections directly below a document or the root.
func (s *Server) ListCollectionIds(_ context.Context, req *pb.ListCollectionIdsRequest) (*pb.ListCollectionIdsResponse, error) {
	database, parent, err := splitParent(req.GetParent())
	if err != nil {
		return nil, err
	}
	if req.GetReadTime() != nil {
		return nil, unimplemented("read_time")
	}
	after, err := pageStart(req.GetPageToken())
	if err != nil {
		return nil, err
	}
	var ids []string
	db := s.database(database)
	s.mu.RLock()
	eachCollection(db.docs, func(collection string) {
		if parent != "" {
			var ok bool
			if collection, ok = strings.CutPrefix(collection, parent+"/"); !ok {
				return
			}
		}
		if id, _, _ := strings.Cut(collection, "/"); id > after {
			ids = append(ids, id)
		}
	})
	s.mu.RUnlock()
	slices.Sort(ids)
	ids = slices.Compact(ids)
	resp := &pb.ListCollectionIdsResponse{CollectionIds: ids}
	if size := pageSize(req.GetPageSize()); len(ids) > size {
		resp.CollectionIds = ids[:size]
		resp.NextPageToken = pageToken(ids[size-1])
	}
	s.billing.read("", 1)
	return resp, nil
}

func pageSize(asked int32) int {
	if asked <= 0 {
		return defaultPage
	}
	return min(int(asked), maxPage)
}

// A page token is the last ID of the page before.
func pageToken(id string) string { return base64.RawURLEncoding.EncodeToString([]byte(id)) }

func pageStart(token string) (string, error) {
	id, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil {
		return "", status.Error(codes.InvalidArgument, "Invalid page token.")
	}
	return string(id), nil
}
