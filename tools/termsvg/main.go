// Command termsvg draws the text on its standard input as a terminal window in SVG.
//
//	berth explain pod misfit | termsvg '$ berth explain pod misfit' > explain.svg
package main

import (
	"bufio"
	"fmt"
	"html"
	"os"
	"strings"
)

// Sizes in pixels.
const (
	charWidth  = 8.4 // of a 14 px monospace font
	lineHeight = 20
	margin     = 20
	titleBar   = 32
)

func main() {
	var lines []string
	if len(os.Args) > 1 {
		lines = append(lines, os.Args[1])
	}
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		lines = append(lines, strings.ReplaceAll(in.Text(), "\t", "    "))
	}
	if err := in.Err(); err != nil {
		fmt.Fprintln(os.Stderr, "termsvg: reading standard input:", err)
		os.Exit(1)
	}
	columns := 0
	for _, l := range lines {
		columns = max(columns, len([]rune(l)))
	}
	width := int(float64(columns)*charWidth) + 2*margin
	height := titleBar + len(lines)*lineHeight + margin
	fmt.Printf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img">`+"\n", width, height, width, height)
	fmt.Printf(`<rect width="%d" height="%d" rx="8" fill="#1e2430"/>`+"\n", width, height)
	for i, color := range []string{"#ff5f57", "#febc2e", "#28c840"} {
		fmt.Printf(`<circle cx="%d" cy="16" r="6" fill="%s"/>`+"\n", margin+i*20, color)
	}
	fmt.Println(`<g font-family="ui-monospace,Menlo,Consolas,'DejaVu Sans Mono',monospace" font-size="14" xml:space="preserve">`)
	for i, l := range lines {
		color := "#d8dee9"
		if strings.HasPrefix(l, "$ ") {
			color = "#a3d977"
		}
		fmt.Printf(`<text x="%d" y="%d" fill="%s">%s</text>`+"\n", margin, titleBar+(i+1)*lineHeight-6, color, html.EscapeString(l))
	}
	fmt.Println("</g>\n</svg>")
}
