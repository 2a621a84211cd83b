package firestore

import (
	"slices"

	pb "cloud.google.com/go/firestore/apiv1/firestorepb"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"outboxrelay/deploy/local/firestore/valuekey"
)

// compile reads a query below parent ("…/documents" or the name of a document).
// aggregated are the fields that it is summed up by.
func compile(parent string, in *pb.StructuredQuery, aggregated ...string) (*query, error) {
	if in.GetFindNearest() != nil {
		return nil, unimplemented("StructuredQuery.find_nearest")
	}
	q := &query{offset: int(in.GetOffset()), limit: -1}
	if in.GetLimit() != nil {
		q.limit = int(in.GetLimit().GetValue())
	}
	if q.offset < 0 || in.GetLimit().GetValue() < 0 {
		return nil, status.Error(codes.InvalidArgument, "offset and limit must not be negative")
	}
	if err := q.from(parent, in.GetFrom()); err != nil {
		return nil, err
	}
	if sel := in.GetSelect(); sel != nil {
		mask := &pb.DocumentMask{}
		for _, f := range sel.GetFields() {
			mask.FieldPaths = append(mask.FieldPaths, f.GetFieldPath())
		}
		if len(mask.FieldPaths) > 0 {
			var err error
			if q.projection, err = newProjection(mask); err != nil {
				return nil, err
			}
		}
	}
	c := compiler{q: q}
	if err := c.filters(in.GetWhere()); err != nil {
		return nil, err
	}
	if err := c.orders(in.GetOrderBy(), aggregated); err != nil {
		return nil, err
	}
	c.divide()
	if err := c.cursors(in.GetStartAt(), in.GetEndAt(), len(in.GetOrderBy())); err != nil {
		return nil, err
	}
	return q, nil
}

func (q *query) from(parent string, from []*pb.StructuredQuery_CollectionSelector) error {
	database, path, err := splitParent(parent)
	if err != nil {
		return err
	}
	if len(from) != 1 {
		return status.Error(codes.InvalidArgument, "A query must name exactly one collection.")
	}
	if from[0].GetCollectionId() == "" {
		return unimplemented("a query without a collection ID")
	}
	if err := checkID(from[0].GetCollectionId()); err != nil {
		return err
	}
	q.database, q.collection, q.group = database, from[0].GetCollectionId(), from[0].GetAllDescendants()
	q.scope = path
	if !q.group {
		q.scope = joinPath(path, q.collection)
	}
	return nil
}

func joinPath(parent, id string) string {
	if parent == "" {
		return id
	}
	return parent + "/" + id
}

// compiler carries what is known of a query while it is read.
type compiler struct {
	q         *query
	conjuncts []*pb.StructuredQuery_Filter // ANDed at the top
	unequal   []fieldPath                  // fields of inequalities, anywhere
	counts    operatorCounts
}

func (c *compiler) filters(where *pb.StructuredQuery_Filter) error {
	if where == nil {
		return nil
	}
	if and := where.GetCompositeFilter(); and != nil && and.GetOp() == pb.StructuredQuery_CompositeFilter_AND {
		c.conjuncts = and.GetFilters()
	} else {
		c.conjuncts = []*pb.StructuredQuery_Filter{where}
	}
	for _, f := range c.conjuncts {
		if err := c.check(f); err != nil {
			return err
		}
	}
	if err := c.counts.check(); err != nil {
		return err
	}
	if c.counts.named > 0 && len(c.unequal) > 0 && !slices.ContainsFunc(c.unequal, fieldPath.isName) {
		return status.Error(codes.InvalidArgument, "Equality on key is not allowed if there are other inequality fields and key does not appear in inequalities.")
	}
	if c.counts.or+c.counts.in == 0 && c.counts.contains <= 1 {
		return nil
	}
	return checkDisjunctions(where)
}

// orders is the query's own order, then that of the fields of inequalities, then
// that of the fields that it is summed up by. The name ends it, and nothing may have
// to follow a name that the query itself orders by.
func (c *compiler) orders(orderBy []*pb.StructuredQuery_Order, aggregated []string) error {
	named, descending := false, false
	for _, o := range orderBy {
		path, err := parseFieldPath(o.GetField().GetFieldPath())
		if err != nil {
			return err
		}
		descending = o.GetDirection() == pb.StructuredQuery_DESCENDING
		if c.q.ordersBy(path) {
			return status.Error(codes.InvalidArgument, "order by clause cannot contain duplicate fields "+path[0])
		}
		if named {
			return status.Error(codes.InvalidArgument, "order by clause cannot contain more fields after the key")
		}
		named = path.isName()
		c.q.orders = append(c.q.orders, order{path, descending})
	}
	for _, path := range sortPaths(c.unequal) {
		if path.isName() || c.q.ordersBy(path) {
			continue
		}
		if named {
			return status.Error(codes.InvalidArgument, "order by clause cannot contain more fields after the key")
		}
		c.q.orders = append(c.q.orders, order{path, descending})
	}
	// A name that is filtered by is in the order before what is summed up, too.
	filtered := c.counts.named > 0 || slices.ContainsFunc(c.unequal, fieldPath.isName)
	if err := c.ordersSums(aggregated, named || filtered, descending); err != nil {
		return err
	}
	if !named {
		c.q.orders = append(c.q.orders, order{fieldPath{nameField}, descending})
	}
	return nil
}

// ordersSums adds what a query is summed up by to its order.
func (c *compiler) ordersSums(aggregated []string, named, descending bool) error {
	for _, field := range aggregated {
		path, err := parseFieldPath(field)
		if err != nil {
			return err
		}
		switch {
		case path.isName():
			return status.Error(codes.InvalidArgument, "Aggregations are not supported for the property: __name__")
		case c.q.ordersBy(path):
			continue
		case named:
			return status.Errorf(codes.InvalidArgument, "This query requires an index that has field %q after __name__, and there is none such.", clip(field))
		}
		c.q.orders = append(c.q.orders, order{path, descending})
	}
	return nil
}

// divide makes keys' prefix of the equalities, bounds of the inequalities on the
// first order, and a filter of what remains.
func (c *compiler) divide() {
	q := c.q
	type equality struct {
		path  fieldPath
		value *pb.Value
	}
	var equals []equality
	var bounds []*pb.StructuredQuery_FieldFilter
	rest := &pb.StructuredQuery_CompositeFilter{Op: pb.StructuredQuery_CompositeFilter_AND}
	var where allOf
	for _, f := range c.conjuncts {
		ff := f.GetFieldFilter()
		path, _ := parseFieldPath(ff.GetField().GetFieldPath())
		switch {
		case ff.GetOp() == pb.StructuredQuery_FieldFilter_EQUAL &&
			!slices.ContainsFunc(equals, func(e equality) bool { return slices.Equal(e.path, path) }):
			equals = append(equals, equality{path, ff.GetValue()})
		case isRange(ff.GetOp()) && slices.Equal(path, q.orders[0].path) && !isNaN(ff.GetValue()):
			bounds = append(bounds, ff)
		default:
			rest.Filters = append(rest.Filters, f)
			where = append(where, c.build(f))
		}
	}
	slices.SortFunc(equals, func(a, b equality) int { return slices.Compare(a.path, b.path) })
	var prefix []byte
	for _, e := range equals {
		q.equals = append(q.equals, e.path)
		prefix = q.appendValue(prefix, e.path, e.value)
	}
	q.where = where
	q.prefix = string(prefix)
	q.low, q.high = q.prefix, q.prefix+above
	for _, ff := range bounds {
		q.bound(ff)
	}
	if len(rest.Filters) == 0 {
		rest = nil
	}
	q.describe(&pb.StructuredQuery_Filter{FilterType: &pb.StructuredQuery_Filter_CompositeFilter{CompositeFilter: rest}})
}

// bound narrows the keys to those that an inequality on the first order allows.
func (q *query) bound(ff *pb.StructuredQuery_FieldFilter) {
	first, prefix := q.orders[0], q.prefix
	value := prefix + string(q.appendColumn(nil, first, ff.GetValue()))
	below, over := valuekey.TypeBounds(ff.GetValue())
	low, high := prefix+string([]byte{below}), prefix+string([]byte{over})
	if first.descending {
		low, high = prefix+string([]byte{^over}), prefix+string([]byte{^below})
	}
	op := ff.GetOp()
	less := op == pb.StructuredQuery_FieldFilter_LESS_THAN || op == pb.StructuredQuery_FieldFilter_LESS_THAN_OR_EQUAL
	inclusive := op == pb.StructuredQuery_FieldFilter_LESS_THAN_OR_EQUAL || op == pb.StructuredQuery_FieldFilter_GREATER_THAN_OR_EQUAL
	if less != first.descending {
		if high = value; inclusive {
			high += above
		}
	} else {
		if low = value; !inclusive {
			low += above
		}
	}
	if isNumber(ff.GetValue()) { // NaN compares with nothing
		nan := prefix + string(q.appendColumn(nil, first, nanValue))
		if first.descending {
			high = min(high, nan)
		} else {
			low = max(low, nan+above)
		}
	}
	q.low, q.high = max(q.low, low), min(q.high, high)
}

// cursors narrows the keys to those between the start and the end.
func (c *compiler) cursors(start, end *pb.Cursor, explicit int) error {
	q := c.q
	if start != nil {
		key, err := c.cursor(start, explicit)
		if err != nil {
			return err
		}
		if !start.GetBefore() {
			key += above
		}
		q.low = max(q.low, key)
	}
	if end != nil {
		key, err := c.cursor(end, explicit)
		if err != nil {
			return err
		}
		if !end.GetBefore() {
			key += above
		}
		q.high = min(q.high, key)
	}
	return nil
}

// cursor is the key of a position: the values of the order's first columns.
func (c *compiler) cursor(in *pb.Cursor, explicit int) (string, error) {
	values := in.GetValues()
	if len(values) > explicit {
		return "", status.Error(codes.InvalidArgument, "Cursor has too many values.")
	}
	key := []byte(c.q.prefix)
	for i, v := range values {
		o := c.q.orders[i]
		if v.GetValueType() == nil {
			return "", status.Error(codes.InvalidArgument, "Cursor value is not set.")
		}
		if o.path.isName() {
			if err := c.checkName(v); err != nil {
				return "", err
			}
		}
		key = c.q.appendColumn(key, o, v)
	}
	return string(key), nil
}
