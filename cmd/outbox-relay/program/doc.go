// Package program is what the commands of this module have in common: the command line, the
// signals, the memory limit, the build.
package program
