"""The words by which a task is read: English, and the commonest of German, French and Spanish."""

from __future__ import annotations

import re


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


CHANGES = _words(
    """
    fix repair write create add implement build make refactor rename delete remove update upgrade bump change edit
    modify
    replace convert port migrate rewrite translate generate install setup configure move copy merge split extract
    document
    format clean draft save put turn resize crop unzip unpack plot draw undo revert redo apply commit develop code adapt
    handle correct solve resolve patch adjust improve extend simplify finish complete download export import sort
    scaffold
    init initialise initialize dockerize containerize automate reduce program store deduplicate lint mock enable disable
    drop insert append wrap set restructure reorganise reorganize modernise modernize redesign style publish tag release
    behebe behebt beheben repariere schreib schreibe erstelle erstell füge füg ergänze implementiere baue lösche
    entferne
    aktualisiere ändere ersetze konvertiere übersetze generiere verschiebe kopiere korrigiere verbessere zeichne
    speichere
    mach mache benenne richte installiere erweitere
    corrige corriger écris écrire crée créer ajoute ajouter supprime supprimer modifie renomme remplace convertis
    traduis
    génère mets améliore implémente répare installe déplace
    arregla escribe crea añade agrega elimina borra modifica cambia renombra reemplaza convierte traduce genera mejora
    implementa instala repara haz mueve
    """
)
ALTERS = _words(
    """
    fix repair rename delete remove update upgrade bump change edit modify replace implement install add refactor patch
    apply commit revert undo move adjust resolve append insert drop
    behebe behebt beheben repariere lösche entferne aktualisiere ändere ersetze ergänze installiere benenne verschiebe
    corrige corriger ajoute ajouter supprime supprimer modifie renomme remplace installe déplace
    arregla añade agrega elimina borra modifica cambia renombra reemplaza instala mueve
    """
)
"""Of these, what alters something that is there."""
LOOKS = _words(
    """
    run list show check look find search count explain describe tell review analyse analyze compare summarise summarize
    research investigate debug profile test reproduce print read open calculate compute verify plan propose recommend
    suggest evaluate estimate examine inspect ping measure benchmark optimise optimize break give get fetch query audit
    restart execute compile trace diagnose outline brainstorm grep cat walk identify determine rate design help
    zeig zeige liste prüfe überprüfe schau erkläre erklär finde such suche vergleiche analysiere führe starte zähle
    berechne
    fasse recherchiere sag lies
    montre vérifie explique cherche trouve analyse regarde lance exécute résume calcule compte dis lis
    muestra lista comprueba verifica explica busca encuentra compara analiza mira ejecuta calcula cuenta revisa dime lee
    """
)
GOES_ON = re.compile(
    r"(?:please )?(?:try (?:it )?again|again|continue|go on|go ahead|carry on|keep going|retry|resume|proceed|next|"
    r"(?:yes|yep|ok|okay|sure)[ ,]+(?:please|do it|go ahead|do that)|do (?:it|that|the same)|same (?:error|"
    r"problem|thing|again)|"
    r"the (?:first|second|third|last|other) (?:one|option|point)|mach weiter|weiter|nochmal|continue[rz]?|encore|"
    r"sigue|otra vez|continúa)\b"
)
QUESTION = re.compile(
    r"(?:what|what's|whats|why|where|where's|when|who|which|how|is|are|does|do|did|should|would|was|were|has|"
    r"have|can|could|"
    r"warum|wieso|weshalb|wo|wie|welche[rs]?|wer|wann|ist|sind|gibt|hat|"
    r"pourquoi|où|comment|quel(?:le)?s?|qui|quand|combien|est-ce|y a-t-il|"
    r"por qué|porque|dónde|cómo|cuál(?:es)?|quién|cuándo|qué|cuántos?|hay)\b"
)
WORK = re.compile(
    r"\b(?:repo(?:sitory)?|project|code ?base|code|builds?|tests?|servers?|databases?|db|quer(?:y|ies)|logs?|"
    r"files?|folders?|"
    r"director(?:y|ies)|workspace|branch(?:es)?|commits?|pull request|pr|ci|pipeline|deploy(?:ment|ed)?|docker|"
    r"container|"
    r"scripts?|functions?|class(?:es)?|modules?|apis?|endpoints?|bugs?|errors?|exceptions?|traceback|"
    r"stack trace|packages?|"
    r"dependenc(?:y|ies)|config(?:uration)?|schema|tables?|index(?:es)?|migrations?|website|page|app|"
    r"application|services?|"
    r"component|csv|sandbox|port|issue|tickets?|attachments?|attached|images?|production|staging|installed|disk|memory|"
    r"architecture|module structure|users|version|backup|release notes|milestones?|team|sprint|feature|"
    r"dateien?|ordner|projekt|fehler|fichiers?|dossier|projet|erreur|archivos?|carpeta|proyecto|prueba)\b"
)
TROUBLE = re.compile(
    r"\b(?:fail(?:s|ed|ing|ure)?|broken|breaks|crash(?:es|ed|ing)?|errors?|exceptions?|(?:does|do|is|"
    r"did)(?:n't|nt| not) "
    r"(?:\w+ )?work(?:ing)?|not working|stopped working|is down|wrong|bug(?:gy)?|off by|hangs|stuck|slow|leaks?|"
    r"kaputt|fehler|schlägt fehl|geht nicht|funktioniert nicht|startet nicht|échoue|plante|ne marche pas|"
    r"marche pas|falla|"
    r"fallan|no funciona|roto)\b"
)
_ENDS = r"(?=s?(?:[^\w\s-]|$| (?:when|if|on|from|for|after|since|again|and|but|in|at|every|as|instead|because|now|while)\b))"
SERVER_FAULT = re.compile(
    r"\b(?:https?|status(?: code)?|response code)(?: is| was)?[ :=]{1,3}50\d\b"
    r"|\b50\d (?:internal|bad gateway|service unavailable|gateway time-?out|responses?|status)\b"
    r"|\b(?:return(?:s|ed|ing)?|respond(?:s|ed|ing)?|answer(?:s|ed|ing)?|throw(?:s|ing)?|threw)"
    rf"(?: with| an?| only| just| always){{0,3}} 50\d{_ENDS}"
    rf"|\b(?:an?|http) 50\d{_ENDS}"
    rf"|\b(?:get|getting|got|see|seeing|gives?|shows?) 50(?:\ds\b|[1-4]{_ENDS})"
)
"""A server answers with a status of its own fault: a number in the five hundreds alone is a number."""
COURTESY = re.compile(
    r"^(?:(?:hi|hey|hello|hallo|bonjour|salut|hola|good (?:morning|afternoon|evening)|guten (?:morgen|tag)|"
    r"thanks?|thank you|"
    r"danke|merci|gracias|ok|okay|cool|great|nice|alright|well|so|yes|no|please|pls|plz|now|also|just|then|and|"
    r"but|first|"
    r"finally|next|quickly|kindly|there|everyone|all|bot|threadwright|bitte|mal|jetzt|dann|s'il (?:te|vous) pla[iî]t|"
    r"maintenant|puis|por favor|ahora|luego|"
    r"(?:can|could|would|will) (?:you|u|we|someone)|i(?:'d| would) like (?:you )?to|i (?:want|need) you to|"
    r"we (?:need|want) to|"
    r"i (?:need|want) to|you (?:should|must|need to)|let(?:'s| us)|help me(?: to)?|"
    r"make sure (?:that )?(?:you )?|go and|try to|"
    r"kannst du|könntest du|können sie|peux[- ]tu|pouvez[- ]vous|pourrais[- ]tu|puedes|podrías|puede)\b[\s,!.:]*)+"
)
WISHES = re.compile(
    r"^(?:i|we) (?:want|need|would like|require)\b|^i'd like\b|\bneeds? (?:an?|some|to be)\b|"
    r"^ich (?:brauche|möchte|will)\b|^je (?:veux|voudrais)\b|^(?:necesito|quiero)\b"
)
NO_FILES = re.compile(
    r"^(?:make|write|create|draft|build|give) (?:me |us |up )?(?:an? |the |some )?(?:\w+ )?(?:plans?|"
    r"estimates?|suggestions?|"
    r"proposals?|overview|comparison|list of|joke|poem|sense|decision|roadmap)\b|^make sure\b|"
    r"^complete(?:ly)? (?:list|overview)\b"
)
"""A change verb whose product is an answer, not a file."""
CLAUSES = re.compile(
    r"(?<![.!?;:])[.!?;:\n]+(?:\s|$)|,\s|\s(?:and then|and|then|but|und|dann|et|puis|y|luego)\s|\s-\s|(?:^|\s)\d+[.)]\s"
)
FILE = re.compile(
    r"(?<![\w./@-])(?:[\w.-]*/)*[\w.-]*\.(?:pyc?|ipynb|jsx?|tsx?|css|html?|md|rst|json|ya?ml|toml|sql|sh|csv|txt|"
    r"pdf|png|jpe?g|"
    r"svg|xlsx?|docx?|zip|gz|log|c|h|cpp|rs|go|java|kt|rb|php|tf|env|ini|cfg|gitignore|lock|vue|db|sqlite|patch|diff)\b"
    r"|(?<![\w/])(?:/|\./|~/)?(?:src|tests?|docs?|lib|app)/"
)
PLACE = re.compile(
    r"\b(?:files?|folders?|director(?:y|ies)|branch(?:es)?|readme|dockerfile|makefile|unit tests?|tests? for|"
    r"dateien?|ordner|fichiers?|dossier|archivos?|carpetas?)\b"
)
"""Where a product is no mere answer."""
PROGRAM = re.compile(
    r"^(?:`[^`\n]+`|(?:ls|pwd|git|df|du|cat|grep|pytest|python3?|pip|npm|npx|node|docker|kubectl|curl|uname|ps|"
    r"whoami|cargo|wc|"
    r"mkdir|rm|cp|mv|chmod|tar|sed|awk)(?:\s+\S+){0,3}\s*$|(?:find|make|go|cd|top|env|tree|head|"
    r"tail)\s+(?:-{1,2}\w|\S*[./]))"
)

TALK_CORE = _words(
    """
    hi hello hey hiya yo sup morning evening afternoon night thanks thank thx ty cheers welcome bye goodbye cya later
    lol rofl
    haha hahaha hehe xd wow yay nice great cool awesome amazing perfect brilliant sweet excellent good sorry oops ok
    okay k
    kk alright sure yes yeah yep no nope nah congrats congratulations nevermind mind brb afk gtg funny
    sense welcome love agreed understood
    hallo servus moin tschüss morgen danke dankeschön prima super klasse toll bonjour bonsoir salut merci parfait génial
    revoir hola buenos buenas gracias adiós genial perfecto vale
    """
)
TALK_MORE = _words(
    """
    a an the to all everyone everybody there again bot threadwright so very much lot lots bunch you your u i i'm im
    we it its
    it's that that's thats this is was are were my me day today tomorrow yesterday week soon then now and but for of
    in on at
    too team guys folks friend buddy mate man really pretty quite just never no not wrong channel window quick help
    work job
    one see have had nice weekend evening makes made does looks sounds works got get thought guess think happy worked
    well
    fast lovely kind helpful problem worries wait what how who done time already back here good-bye please
    zusammen alle dir dich ihnen euch guten guter tag abend vielen das hat ist sehr gut geklappt ja nein wie geht's
    geht gehts
    bis bald schön
    à tous beaucoup tout le monde bien très c'est ça va
    qué tal muchas muchos días tardes noches todos a muy bien como estás
    """
)
ASSENT = _words("yes yeah yep sure ok okay k kk alright right please agreed go do it ja oui sí si vale d'accord")
"""After an answer that offered something, these take it up."""
ALONE = frozenset(("test", "testing", "ping", "test test"))
ABOUT_YOU = re.compile(
    r"^(?:so |and |but |btw |hey |hi |hello |ok )*(?:(?:who|what)(?:'re| are| r) (?:you|u)\b|(?:what|who)(?:'s|"
    r" is) your (?:name|job)"
    r"|what (?:all )?can (?:you|u) (?:do|help)|what do you do\b|how (?:are|r) (?:you|u)\b|how(?:'s|"
    r" is) it going|how old are you"
    r"|how much do you cost|how do you work|how were you (?:made|built)|(?:which|what) (?:\w+ )?model (?:are|do) you"
    r"|are you (?:a |an |there|real|human|alive|okay|ok|online|awake|ready)|do you (?:speak|remember|like|"
    r"sleep|dream|feel|"
    r"have feelings|know (?:me|who))|can you (?:see|hear|speak|remember|learn)\b|who (?:made|built|created) you|"
    r"wer bist du|was bist du|was kannst du|wie geht|bist du|sprichst du|qui es[- ]tu|qui [eê]tes[- ]vous|"
    r"que (?:peux|sais)[- ]tu|"
    r"comment (?:vas|allez|ça va)|es[- ]tu|quién eres|qué eres|qué puedes hacer|cómo (?:estás|te llamas)|qué tal|eres)"
)
SUM = re.compile(
    r"^(?:(?:what(?:'s| is)|how much is|calculate|compute|was ist|wie viel ist|combien font|cuánto es) )?"
    r"[-+(]*+\d[\d.,]{0,20}+(?:%(?! ?[\d(]))?+\)*+(?: ?+"
    r"(?:[-+*/x×÷^%()]|times|plus|minus|divided by|multiplied by|of|mod|mal|geteilt durch|fois|por) ?+"
    r"[-+(]*+\d[\d.,]{0,20}+(?:%(?! ?[\d(]))?+\)*+){1,20}+ ?[=?.! ]{0,5}\Z"
)
"""A sum and nothing else."""
