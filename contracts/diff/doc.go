// Package diff tells what a change of a catalog means for those who go by it:
// producers, consumers and operators. A version's schema says both what producers
// may write and what consumers may meet, so a change of it has to please both:
// only new fields that may be left out do.
package diff
