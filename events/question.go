package events

import "strings"

// AllNamespaces stands in the subject of a question for all namespaces. Namespaces are DNS labels, so none has this name.
const AllNamespaces = "_all"

// QuestionSubject is where clients ask the question of this name, about all namespaces: rookery.api.<question>.
func QuestionSubject(name string) string { return APIRoot + "." + name }

// QuestionBy is where a user asks it, about one namespace or AllNamespaces: rookery.api.by.<user>.<namespace>.<question>.
func QuestionBy(user, namespace, name string) string {
	return strings.Join([]string{APIRoot, "by", user, namespace, name}, ".")
}

// QuestionsBy matches where all users ask it.
func QuestionsBy(name string) string { return QuestionBy("*", "*", name) }

// AskedBy returns who asks the question on this subject, or "" where it does not say so, and the namespace that it is about alone, or "" for all.
func AskedBy(subject string) (user, namespace string) {
	const length, by = 6, 2
	t := strings.Split(subject, ".")
	if len(t) != length || t[by] != "by" {
		return "", ""
	}
	if user, namespace = t[by+1], t[by+2]; namespace == AllNamespaces {
		namespace = ""
	}
	return user, namespace
}
