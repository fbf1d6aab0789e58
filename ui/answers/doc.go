// Package answers computes the data of the web page, in the format of the commands' -o json, now and at recorded times.
package answers
