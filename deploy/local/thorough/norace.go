//go:build !race

package thorough

const underRace = false
