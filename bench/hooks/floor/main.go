// Floor is the least that a program in Go can do as a hook: it prints one line.
// What gt's hooks cost is told as a multiple of what this costs.
package main

import "fmt"

func main() { fmt.Println("one line") }
