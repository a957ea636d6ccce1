package transcript

import "strings"

// kept takes out of a compaction's summary what the client puts around it.
func kept(s string) string {
	const preface = "The summary below covers the earlier portion of the conversation."
	if _, after, ok := strings.Cut(s, "\nSummary:\n"); ok {
		s = after
	} else if _, after, ok := strings.Cut(s, preface); ok {
		s = after
	}
	s, _, _ = strings.Cut(s, "\nIf you need specific details from before compaction")
	s, _, _ = strings.Cut(s, "\nPlease continue the conversation from where we left it off")
	return strings.TrimSpace(s)
}

// sections cuts each section of a summary to its beginning, for what was asked
// stands in the first of them, what is still to do in the last, and pages of
// code in between. A summary that is not in sections stays as it is.
func sections(s string) string {
	var parts []string
	start := 0
	cut := func(end int) {
		part := strings.TrimSpace(s[start:end])
		if part != "" && !omitted(part) {
			parts = append(parts, Cut(part, sectionLength))
		}
		start = end
	}
	for i := 0; i < len(s); {
		end := i + strings.IndexByte(s[i:]+"\n", '\n')
		if isHeading(s[i:min(end, len(s))]) {
			cut(i)
		}
		i = end + 1
	}
	cut(len(s))
	if len(parts) < 3 {
		return s
	}
	return strings.Join(parts, "\n")
}

// isHeading knows the headings that the client asks for ("7. Pending Tasks:"),
// also in the dress that a model may give them.
func isHeading(line string) bool {
	line = strings.Trim(line, "#* ")
	number, title, ok := strings.Cut(line, ". ")
	return ok && len(number) == 1 && number[0] >= '1' && number[0] <= '9' &&
		len(title) < 60 && strings.HasSuffix(strings.TrimRight(title, "* "), ":") && title[0] >= 'A' && title[0] <= 'Z'
}

// omitted knows the sections that repeat what stands in the files.
func omitted(part string) bool {
	heading, _, _ := strings.Cut(part, "\n")
	return strings.Contains(heading, "Key Technical Concepts") || strings.Contains(heading, "Files and Code Sections")
}
