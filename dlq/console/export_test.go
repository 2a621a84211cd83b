package console

// Posts lists the patterns, below Prefix, of all that changes something.
func (s *Server) Posts() []string { return s.posts }
