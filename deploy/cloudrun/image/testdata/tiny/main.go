// Command tiny stands for the service where only the image around it matters.
package main

import "fmt"

var linkedVersion, linkedCommit string

func main() { fmt.Println(linkedVersion, linkedCommit) }
