// Command program is a small program with a dependency.
package main

import specs "github.com/opencontainers/image-spec/specs-go"

func main() { println(specs.Version) }
