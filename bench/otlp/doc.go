// Package otlp has gt-record's traces judged by others: the collector's own reader decodes
// them, and the names of their attributes are those of the conventions that the file says it
// follows. It is a module of its own, so that gt needs neither.
package otlp
