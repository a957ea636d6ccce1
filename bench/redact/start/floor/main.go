// Floor prints one line.
package main

import "fmt"

func main() { fmt.Println("one line") }
