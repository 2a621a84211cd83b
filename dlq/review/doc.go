// Package review looks after the dead letters that wait for a person: the sibling
// that carries out what operators ask for of REVIEW_REQUIRED, and measures the whole
// queue.
package review
