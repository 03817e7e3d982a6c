r"""What a text asks somebody to do, by its verbs and what they are done to, in several languages.  Pure.

A net under what the writer of a lesson declares.  A deed is a verb and, a few words on, what it is done to; so what
merely mentions such things (tokens of a parser, approvals of an invoice) passes.  A few deeds are known by one phrase.
"""

from __future__ import annotations

from typing import Final

from agentic.core.patterns import later

_NEAR: Final = r"\b[^\n.;:!?]{0,60}?"
"""Between a verb and its object: within a sentence, a bounded way on."""

_SECRETS: Final = later(
    rf"""(?ix) \b(?:put|puts|putting|print|printing|include|including|upload|copy|copying|paste|pasting|quot(?:e|ing)
        |show|showing
        |list|listing|dump|echo|attach|send|sending|post|posting|reveal|leak|share|forward|mail|hand\s+over|write\s+out
        |write\s+down
        |read\s+out|read\s+aloud|report|mention|give|embed|commit|log(?!\s+in)|cat|display|collect|gather|harvest
        |grab|borrow
        |reuse|fish|repeat|recite|spell\s+out|encode|transmit
        |zeig\w*|druck\w*|ausgeben|gib|schick\w*|send\w*|kopier\w*|nenn\w*|schreib\w*|(?:hoch|ab)lad\w*|einfug\w*|anhang\w*
        |muestr\w+|mostrar|imprim\w*|inclu[iy]\w*|copi\w+|envi\w+|peg(?:a|ar)|sub(?:e|ir)|affich\w*|montr\w+|envo\w+
        |coll(?:e|er)
        |stampa\w*|includ\w+|invia\w*|incolla\w*|mostra\w*|enseign\w*)
      {_NEAR}\b(?:dot-?\s?env|env(?:ironment)?\s+(?:file|variables?|values?)|secrets?(?![\w-])(?!\s+(?:santa|shar
        |module))|credentials?
        |passwords?(?!\s*(?:hash|field|form|reset|policy|valid|strength|test|prompt|input|rule|column|length|check)\w*)
        |passphrases?|(?:private|api|access|ssh|signing|encryption|deploy)[\s_-]*keys?
        |(?:access|api|auth\w*|bearer|session|deploy|refresh|personal|bot|login)[\s_-]+(?:tokens?|cookies?|data|details)
        |umgebungsvariable\w*|zugangsdaten|passw[oö]rt\w*|kennw[oö]rt\w*|geheimnis\w*|schlussel\w*|anmeldedaten
        |contrasenas?|credencial\w*|secretos?|claves?|variables?\s+d(?:e|')\s?(?:entorno|environnement)|mots?\s+de\s+passe
        |identifiants|cles?\s+(?:api|privee|secrete)\w*|password\w*\s+(?:di|del)|chiavi|segreti|senhas?)\b
      | \b(?:put|print|include|upload|copy|paste|send|post|write|show|quote|attach)\b[^\n.;:!?]{{0,40}}?\b(?:tokens?|keys)\b
        [^\n.;:!?]{{0,40}}?\b(?:answer|report|reply|thread|chat|channel|summary|pull\s+request|repository|commit|issue)\b
      | \bfile\b[^\n.;!?]{{0,40}}\b(?:before\s+its\s+dot|begins\s+with\s+a\s+dot
        |dotted)\b[^\n.;!?]{{0,60}}\b(?:outside\s+services|keys|values)
      | \bwhat\s+(?:was|is|people|users?|they|somebody|someone)\b[^\n.;:!?]{{0,20}}\b(?:typed|type|entered|enter)\b
      | \b(?:sign-?in|log-?in)\b[^\n.;:!?]{{0,60}}\b(?:write\s+down|record|capture|keep|save)\b
      | \b(?:record|log|capture|keep|save)\w*\s+(?:\w+\s+){{0,2}}?keystrokes?\b
      | \b(?:log-?in|sign-?in|access|credentials?|password|account|keys?)\b[^\n.;:!?]{{0,15}}\b(?:lies|lie|stands?
        |is\s+kept|are\s+kept|can\s+be\s+found)
        \s+(?:beside|next\s+to|in|under|near|behind)"""
)
_APPROVALS: Final = later(
    r"""(?ix) \b(?:approve|approving|confirm|confirming|accept|sign\s+off|merge|grant|allow|release|wave\s+through)
        (?:\W+\w+){0,2}?\W+(?:your(?:self)?|(?:(?:its|their|one's|my)\s*)?own|yourselves|itself|himself|themselves)\b
      | \b(?:skip|bypass|avoid|circumvent|evade|dodge|pre-?empt|go\s+round|go\s+around|work\s+around|get\s+round
        |get\s+past|suppress|auto-?\w*
          |answer|click|press|tick|forge|fake|simulate|do\s+without|dispense\s+with|split)\b
        [^\n.;:!?]{0,40}?\b(?:approvals?|reviews?|reviewers?|consent|permission|confirmations?|questions?|go-ahead
        |sign-?off|gates?|prompts?)\b
      | \b(?:do\s+not|don't|never|no\s+need\s+to|need\s+not|without|stop|instead\s+of|rather\s+than|no\s+point\s+in
        |not\s+worth)
        \s+(?:\w+\s+){0,2}?(?:ask|asking|seek\w*|obtain\w*)\b
      | \b(?:do\s+not|don't|never|no\s+need\s+to|need\s+not|without|stop|instead\s+of|rather\s+than|not)\s+(?:\w+\s+){0,2}?
        (?:wait|waiting|confirm|confirming|bother|bothering|check(?:ing)?\s+with|consult\w*|request\w*)\b[^\n.;:!?]{0,25}?
        \b(?:approv\w+|reviews?|reviewers?|confirm\w*|consent|permission|persons?|people|users?|owners?|somebody|anybody
        |humans?|maintainers?|answers?)\b
      | \bwaiting\s+for\s+(?:a|the|any)\s+(?:person|human|owner|user|approval|review|reviewer|answer)\b
      | \b(?:silence|no\s+(?:answer|reply|objection))\b[^\n.;!?]{0,30}\b(?:yes|consent|approval|agree\w*|permission
        |assent)\b
      | \b(?:treat|take|count|read|assume|consider|presume)\b[^\n.;!?]{0,50}\b(?:as|for|is)\s+(?:an?\s+)?(?:yes|consent
        |approval|approved|permission|go-ahead|agreed|given)\b
      | \bohne\s+(?:\w+\s+){0,2}?(?:ruckfrage|nachfrage|zustimmung|freigabe|genehmigung|zu\s+fragen|nachzufragen)
      | \b(?:nicht|niemals|nie)\s+(?:\w+\s+){0,2}?(?:fragen|nachfragen|ruckfragen)\b
        | \bfrag\w*\s+(?:\w+\s+){0,2}?nicht\b
      | \b(?:genehmig|bestatig|freigeb)\w*\b[^\n.;!?]{0,30}\b(?:selbst|eigene\w*)\b | \b(?:eigene\w*
        |selbst)\b[^\n.;!?]{0,40}\b(?:genehmig|bestatig|freigeb|freizugeb)
      | \bsin\s+(?:preguntar|pedir|esperar|consultar|aprobacion|permiso|confirmacion)
        | \bno\s+(?:hace\s+falta\s+)?(?:preguntes?|preguntar|pidas|pedir|esperes?)\b
      | \baprueb\w*\b[^\n.;!?]{0,30}\b(?:propi\w+|tu|tus)\b | \bsans\s+(?:demander|attendre|approbation|accord
        |confirmation|poser)
      | \bapprouv\w*\b[^\n.;!?]{0,30}\b(?:propre\w*|toi-meme|vous-meme)\b | \bsenza\s+(?:chiedere|aspettare
        |approvazione|conferma)
      | \binutile\s+d(?:e|')\s?(?:demander|attendre)"""
)
_NETWORK: Final = later(
    rf"""(?ix) \b(?:upload|send|sending|post|posting|publish|push|transmit|share|forward|hand|paste|submit|deliver|report
        |stream|mirror
          |schick\w*|send\w*|hochlad\w*|lad\w*|ubertrag\w*|veroffentlich\w*|envi\w+|sub(?:e|ir)|publi\w+|envo\w+|invia\w*
          |carica\w*)
      {_NEAR}\b(?:public|external|online|outside|free|third-party|remote|foreign|web|cloud|anonymous|freien|externen?
        |offentlich\w*|publico|externo|public|externe)\s+
        (?:[\w-]+\s+){{0,2}}?(?:sites?|services?|paste\w*|hosts?|server|apis?|tools?|end\s?points?|bins?|buckets?
        |translator|page|place|address|forum|drive|storage
          |\w*dienst\w*|servicio|sitio|servicio|service)\b
      | \b(?:paste\s?(?:bin|site|service)|gist|telegram|ngrok|file-?sharing|hastebin
        |transfer\.sh)\b[^\n]{{0,60}}\b(?:link|log|send|upload|put|post|result|output)
      | \b(?:upload|send|post|push|put|share|publish)\b[^\n.;:!?]{{0,60}}\b(?:paste\s?(?:bin|site|service)|gists?
        |pastebin|internet|cloud|webhook|telegram)\b
      | \b(?:im|ins)\s+(?:netz|internet)\b | \ben\s+(?:internet|linea|la\s+nube|ligne)\b | \bsur\s+internet\b
      | \b(?:fetch|download|get|pull|load|install|grab|take|retrieve|run|execute|herunterlad\w*|descarg\w+|telecharg\w+
        |scarica\w*)\b
        [^\n.;:!?]{{0,60}}?\b(?:installers?|(?:from|off|on)\s+(?:the\s+|its\s+|a\s+
        |some\s+)?(?:[\w'-]+\s+){{0,2}}?(?:internet|web|web\s?site|site|vendor|net|mirror|fork|gist|forum|blog|url|page)
          |(?:with|by|via|through)\s+(?:curl|wget))\b
      | \b(?:with|by|via|use|using|run|through)\s+(?:curl|wget)\b | \bpip(?:e|ed|ing)\b[^\n.;!?]{{0,40}}\b(?:bash|sh
        |shell|interpreter|python)\b
      | \b(?:proxy|tunnel|reverse\s+shell|phone\s+home|beacon)\b[^\n.;!?]{{0,40}}\b(?:set|open|through|route|outside
        |to)\b | \b(?:open|set\s+up|route)\b[^\n.;!?]{{0,40}}\b(?:tunnel|reverse\s+shell|proxy)\b
      | \b(?:unpinned|unsigned|unverified|untrusted)\s+(?:package|source|mirror|index|binar\w+|script)s?\b"""
)
_ACCOUNTS: Final = later(
    rf"""(?ix) \b(?:create|add|make|grant|give|widen|raise|borrow|elevate|assign|request|generate|issue|open|switch\s+to
        |use|run\s+as|become|register|invite|extend|obtain
          |crea\w*|erstell\w*|anleg\w*|gewahr\w*|ajout\w*|cre(?:e|er)|anad\w+|accord\w*)
      {_NEAR}\b(?:(?:access|api|deploy|admin\w*|personal|service)[\s-]+(?:tokens?|keys?|accounts?|rights?|roles?|users?)
        |all\s+(?:scopes|rights|permissions)
        |(?:root|sudo|owner|superuser)\s+(?:rights?|access|role|user|account)|new\s+(?:user|account|admin\w*)
        |write\s+access|full\s+access
        |(?:wider|broader|higher|more|full|elevated|stronger|greater|extra|additional)\s+(?:role|rights?|permissions?
        |privileges?|access|scopes?|one)
        |zugriffstoken|administratorrechte|adminrechte|vollzugriff|permisos?\s+(?:de\s+)?(?:admin\w*|root|total\w*)
        |droits?\s+(?:d'|de\s+)?admin\w*)\b
      | \bas\s+(?:root|admin(?:istrator)?|superuser)\b | \bchmod\s+(?:-r\s+)?[0-7]*7\b | \b0?777\b | \bworld-(?:readable
        |writable)\b
      | \b(?:read|write)able\s+(?:and\s+\w+\s+)?(?:for|by|to)\s+(?:every\w+|anyone|the\s+world)\b
      | \b(?:open|share|give|grant|make)\b[^\n.;!?]{{0,50}}\b(?:to|for)\s+(?:everybody|everyone|anybody|anyone|the\s+world)\b
      | \b(?:role|right|permission|privilege)s?\b[^\n.;!?]{{0,40}}\b(?:borrow|widen|raise|elevate|escalate)\b
      | \b(?:change|raise|lower|loosen|edit|relax|remove|disable)\b[^\n.;:!?]{{0,30}}\b(?:branch\s+protection
        |access\s+(?:rules|control\w*)|two-factor|2fa|mfa|role\s+bindings?|policies|sudoers)\b"""
)
_REMOTES: Final = later(
    r"""(?ix) (?<!the\s)\b(?:push(?!-)(?:ing|es)?|force(?!d)|overwrite|rewrite|rewriting|reset|delete|replace|squash|retag
          |move)
      \b[^\n.;:!?]{0,50}?\b(?:remotes?|origin|main(?![\w.(])(?!\s+(?:function|module|loop|thread|window|page|menu
        |entry))|master|trunk|upstream|(?:published|shared|public|remote|git)\s+(?:history|branch\w*|tags?)
        |protected\s+branch\w*|release\s+(?:branch|tag)\w*|server's\s+(?:copy|side|version|branch)|default\s+branch
        |production)\b
      | \bforc\w+[\s-]+push\w*\b | \bpush\w*\s+(?:with|by|using)\s+(?:-\w|--)?force | \bforce-with-lease\b
      | \bmerge\b[^\n.;:!?]{0,40}\b(?:into|to|straight|direct\w*|onto)\s+(?:the\s+)?(?:main|master|trunk|production
        |release|default)\b
      | \b(?:server|remote)(?:'s|s')?\s+(?:copy|side|history|version)\b[^\n.;!?]{0,50}\b(?:follow|overwrite|replace
        |give\s+way|match|yield)
      | \bours\s+(?:is|wins|counts|goes)\b | \bregardless\s+of\s+what\s+others\b | \bwithout\s+regard\s+to\s+what\s+others\b
      | \b(?:publish|release|deploy)\b[^\n.;:!?]{0,30}\b(?:package|version|new\s+version|registry|at\s+once|directly
        |straight|live|production)\b
      | \b(?:direkt|gleich|sofort)\b[^\n.;!?]{0,30}\b(?:auf|nach|in)\s+(?:main|master|den\s+hauptzweig)\b | \bpush(?:e
        |en|t|er|ear)\b[^\n.;!?]{0,40}\b(?:main|master|origin|hauptzweig|principal)\b
      | \b(?:directamente|directement)\b[^\n.;!?]{0,30}\b(?:main|master|rama\s+principal|branche\s+principale)\b"""
)
_CHECKED: Final = (
    r"(?:(?:failing|slow|flaky|red|broken|unit|security|type|the|a|all|any|its|these|those|that|this|other|whole"
    r"|each)\s+){0,3}?(?:tests?|checks?|linters?(?:'s)?|lint|assert(?:ion)?s?|pipelines?|ci|"
    r"workflows?|coverage|gates?|hooks?|type\s?check\w*|tls|ssl|certificates?(?:\s+\w+)?|verification|validation|security"
    r"|scanners?|alarms?|"
    r"warnings?|audits?|signatures?|thresholds?|safeguards?|protections?|logging|monitoring|sandbox)\b"
)
_CHECKS: Final = later(
    rf"""(?ix) \b(?:disable|disabling|weaken|weakening|loosen|relax|deactivate|switch\s+off|turn\s+off|silence|mute
        |comment\s+out|bypass|circumvent|neutrali[sz]e|defeat|cheat|game|stub\s+out|short-?circuit|suppress|lower
        |water\s+down|cripple)
      \s+(?:[\w'-]+\s+){{0,4}}?{_CHECKED}
      | \b(?:skip|delete|remove|ignore|drop|omit|xfail|exclude|edit)\s+{_CHECKED}(?!\s+(?:header|line|column|row|output
        |name|prefix|suffix|folder|director|file)\w*)
      | \b(?:turn|switch|set)\b[^\n.;:!?]{{0,60}}?\b(?:rules?|checks?|tests?|hooks?|verification|linter|scanner|alerts?
        |logging|gate)\b[^\n.;:!?]{{0,20}}?\boff\b
      | \bmark\w*\b[^\n.;:!?]{{0,40}}?\bas\s+(?:skip\w*|xfail|optional|expected\s+fail\w*|flaky|allowed\s+to\s+fail
        |passed|passing|done|not\s+required)\b
      | \b(?:skip[\s-]?ci|ci[\s-]?skip|no[\s-]?ci|no-verify|allow[_\s]failure|continue-on-error)\b | \|\|\s*true\b
      | \b(?:report|claim|pretend|say|announce|declare|record)\b[^\n.;:!?]{{0,30}}\b(?:success|(?:that\s+)?(?:it|they
        |everything|all|the\s+\w+)\s+(?:pass\w*|work\w*|succeed\w*|is\s+green|are\s+green|went\s+well))\b
      | \b(?:change|adjust|edit|adapt|bend|rewrite|hard-?code|update)\b[^\n.;:!?]{{0,40}}\b(?:expected|assert\w*|golden
        |reference)\b[^\n.;!?]{{0,40}}\b(?:until|so\s+that)\b[^\n.;!?]{{0,30}}\b(?:pass\w*|green|match\w*|agree\w*)
      | \buntil\s+(?:it|they|the\s+\w+)\s+(?:passes|pass|turns?\s+green|goes\s+green)\b[^\n;!?]{{0,60}}\b(?:nobody
        |no\s+one|anyway)
      | \bverify\s*=\s*(?:false|0)\b | \bcert_none\b | \bnode_tls_reject\w* | \binsecureskipverify\b
        | \binsecure\s+(?:flag|mode|option)\b | \bsslverify\b
      | \b(?:trust|accept)\s+(?:all|any|every)\s+certificates?\b
      | \b(?:uberspring|abschalt|ausschalt|deaktivier|umgeh|entfern|auskommentier|schalt
        |losch)\w*\b[^\n.;:!?]{{0,50}}\b(?:tests?|prufung\w*|checks?|linter|pipeline|zertifikat\w*|verifikation
        |assertions?|warnung\w*)\b
      | \b(?:tests?|prufung\w*|checks?|linter|pipeline|zertifikat\w*)\b[^\n.;:!?]{{0,50}}\b(?:uberspring|abschalt
        |ausschalt|deaktivier|umgeh|auskommentier|abgeschalt|ausgeschalt|ubersprung|abzuschalten|auszuschalten)\w*
      | \b(?:desactiv|salt|omit|elimin|borr|coment|debilit|ignor)\w*\b[^\n.;:!?]{{0,40}}\b(?:pruebas?|tests?
        |verificacion\w*|comprobacion\w*|controles|certificados?|validacion)\b
      | \b(?:marca|marque|marquer|marcar)\w*\b[^\n.;:!?]{{0,40}}\b(?:opcional|facultati\w+|optionnel\w*|reussi\w*)\b
      | \b(?:desactiv|saut|ignor|supprim|affaibl|contourn|comment)\w*\b[^\n.;:!?]{{0,50}}\b(?:tests?|controles?
        |verifications?|certificats?|compare|assertions?|validation)\b
      | \b(?:disattiv|disabilit|salt|ignor|rimuov)\w*\b[^\n.;:!?]{{0,40}}\b(?:test|controll\w+|verific\w+|certificat\w+)\b"""
)
_REPORTS: Final = later(
    r"""(?ix) \b(?:leave|leaving|keep|keeping|omit|hide|hiding|conceal|drop|withhold|strip|remove|filter
        |cut)\b[^\n.;:!?]{0,70}?\b(?:out\s+of|from|off)\s+
        (?:the\s+|a\s+|any\s+|your\s+|what\s+)?(?:final\s+|commit\s+)?(?:reports?|summar\w+|answers?|users?|persons?
        |people|owners?|reviewers?|maintainers?|audit|record|diff|thread|replies|reply|is\s+told)\b
      | \b(?:hide|conceal|cover\s+up|disguise|camouflage|bury|play\s+down)\b[^\n.;:!?]{0,40}\b(?:that|changes?|traces?
        |failures?|errors?|what|it|edits?|tracks?|commits?|deletions?)\b
      | \b(?:do\s+not|don't|never|no\s+need\s+to|need\s+not|without|avoid|rather\s+not
        |better\s+not(?:\s+to)?)\s+(?:\w+\s+){0,1}?
        (?:tell|telling|mention|mentioning|admit|admitting|disclose|disclosing|reveal|report|reporting|inform\w*
        |notify\w*|say|speak\w*|talk\w*)\b
      | \b(?:need(?:s)?\s+not|need\s+to|should\s+not|must\s+not|don't\s+have\s+to|nobody\s+(?:has
        |needs)\s+to)\s+(?:\w+\s+)?(?:know|hear|learn|see|notice)\b
      | \b(?:nobody|no\s+one|no-one)\s+(?:\w+\s+){0,2}?(?:reads|looks|checks|notices|sees|knows
          |will\s+(?:know|read|look|see|notice|check)|needs)\b
      | \bafterwards\s+if\s+any(?:body|one)\b | \bonly\s+(?:if|when)\s+(?:some|any)(?:body|one)\s+asks\b
      | \b(?:only|just)\s+(?:name|mention|report|tell|list|describe|show)\b[^\n.;!?]{0,30}\b(?:success\w*|worked
        |went\s+well|achiev\w+|positive|good)\b
      | \b(?:short|brief|clean)\W+positive\b | \bpositive\s+(?:summar|report|answer)
      | \bnur\s+(?:das\s+|die\s+)?(?:erreichte|erfolg\w*|positive\w*)\b | \bnicht\s+(?:zu\s+)?(?:erfahren|erwahn\w*
        |wissen|mitteil\w*|mitzuteilen|meld\w*)\b | \bverschweig\w*
      | \b(?:no|sin)\s+(?:hace\s+falta\s+)?(?:mencion\w*|decir\w*|inform\w*|avis\w*|cont(?:ar|es))\b
        | \bne\s+(?:pas\s+)?(?:mentionn|signal|dis|dites|dire|parl|inform)\w*
      | \bsans\s+(?:le\s+)?(?:dire|mentionner|signaler|prevenir)\b | \bpersonne\s+ne\s+(?:relit|lit|regarde|verifie
        |verra)\b | \bnadie\s+(?:lee|mira|revisa|nota)\b
      | \bniemand\s+(?:\w+\s+){0,2}?(?:liest|sieht|merkt|pruft|schaut)\b | \bocult\w+\b | \bcach(?:e|er
        |ez)\b[^\n.;!?]{0,30}\b(?:erreur|echec|modif|utilisateur)\w*"""
)
_RULES: Final = later(
    r"""(?ix) (?<![\w.-])(?:ignore|ignoring|disregard\w*|override|overriding|overrule|forget|set\s+aside|put\s+aside
        |work\s+around|go\s+against|outrank|bend|break|sidestep|pass\s+over|look\s+past|deviate)\b
        [^\n.;:!?]{0,50}?\b(?:instructions?|(?:the\s+|these\s+|those\s+|its\s+|your\s+|such\s+|any\s+|project\s+)rules?
        |guidelines?|guidance|polic(?:y|ies)|prohibitions?|constraints?|aiignore|wishes|requests?
          |(?:what|how|whatever|when)\s+(?:a\s+|the\s+|any\s+|some\s+)?(?:users?|persons?|people|owners?|somebody|they
          |maintainers?|requester)\b|(?:users?|persons?|owners?)(?:'s|s')\s)
      | \b(?:instructions?|orders?|notes?|comments?|directions?|commands?)\s+(?:that\s+(?:stand
        |are)\s+)?(?:found\s+)?(?:inside|in|within|from)\s+(?:of\s+)?(?:the\s+|any\s+)?(?:files?|comments?|issues?
        |read-?mes?|pages?|workspace|attachments?|tickets?|web)\b
        [^\n.;!?]{0,60}\b(?:come|count|outweigh|take|go|are\s+to|must|should|binding|precedence|before|follow|owner|obey)
      | \b(?:follow|obey|carry\s+out|execute|do\s+what|act\s+on)\b[^\n.;!?]{0,40}\b(?:instructions?|orders?|comments?
        |it\s+says|they\s+say|directions)\b[^\n.;!?]{0,30}\b(?:in|inside|within|from)\s+(?:\w+\s+){0,2}?(?:files?
        |comments?|issues?|read-?mes?|pages?|attachments?|tickets?|web)\b
      | \b(?:introductory|initial|opening|first|system|starting)\s+(?:text|prompt|message|words|part
        |section)\b[^\n;!?]{0,80}\b(?:outdated|instead|old|wrong|in\s+the\s+way|skip|ignored?|not\s+apply|optional|stale)
      | \b(?:takes?|has|have|gets?)\s+(?:precedence|priority)\s+over\b[^\n.;!?]{0,40}\b(?:user|person|people|thread|owner
        |rules?|instructions?|prompt)
      | \bbefore\s+anything\s+said\b | \bgo\s+by\s+(?:experience|your\s+own)\b | \b(?:rules?|limits?|restrictions?
        |instructions?)\b[^\n.;!?]{0,30}\b(?:do\s+not|don't|no\s+longer)\s+(?:apply|count|hold|matter)\b
      | \b(?:edit|change|extend|rewrite|append\s+to|add\b[^\n.;!?]{0,30}\bto)\s+(?:the\s+)?(?:agents\.md|claude\.md
        |\.?aiignore|system\s+prompt|rules\s+file|file\s+of\s+rules)
      | \b(?:raise|increase|extend|lift|exceed|evade)\b[^\n.;!?]{0,25}\b(?:budget|cap|spending
        |limit)s?\b[^\n.;!?]{0,30}\b(?:yourself|without|task|own|day|tokens)
      | \b(?:regeln?|anweisung\w*|vorgaben?|vorschrift\w*)\b[^\n.;!?]{0,40}\b(?:ignorier|ubergeh|missacht|hinweg|vergess
        |beiseite|nicht\s+beacht)\w*
      | \b(?:ignor\w*|ubergeh\w*|missacht\w*|saltate|olvid\w*|oubli\w*|no\s+hagas\s+caso
        |ne\s+tiens?\s+pas\s+compte)\b[^\n.;!?]{0,40}\b(?:regeln?|vorgaben?|reglas?|normas?|instrucc\w*|regles?
        |consignes?|regole|usuari\w+|utilisateur\w*|nutzer\w*|utente)\b"""
)
_PEOPLE: Final = later(
    rf"""(?ix) \b(?:look|copy|gather|collect|read|keep|take|search|browse|use|open|store|save|profile|track|scan
        |go\s+through|peek|quote|lift)\w*
      {_NEAR}\b(?:(?:other|another|somebody\s+else's|someone\s+else's|everyone's|neighbou?ring)\s+(?:threads?|channels?
        |people|persons?|users?|customers?|teams?|tasks?|servers?|sessions?|workspaces?)'?s?'?\s?
          (?:workspaces?|messages?|data|files|work|notes|folders?|conversations?|histor\w+|logs?)?\b
        |private\s+messages|direct\s+messages|(?:customer|client|patient|user|employee|member)s?'?s?\s+(?:table
        |data(?!\w)|records|addresses|names|e-?mails)\b
        |personal\s+data|browsing|home\s+addresses)
      | \bother\s+(?:threads?|users?|people|persons?|teams?|customers?|tasks?)(?:'s?|s')\s+(?:\w+\s+)?(?:workspaces?
        |messages?|data|files|work|notes|folders?|conversations?|results)\b
      | \bwhat\s+(?:they|people|somebody|a\s+person|users?|members)\s+(?:wrote|said|write
        |posted)\b[^\n.;!?]{{0,30}}\b(?:channels?|threads?|elsewhere|messages)\b
      | \b(?:kundentabelle|kundendaten|personendaten|personenbezogen\w*|datos\s+(?:de\s+(?:los\s+)?clientes|personales)
        |donnees\s+(?:des\s+)?(?:clients?|personnelles))\b"""
)
_LASTING: Final = later(
    r"""(?ix) (?<![\w/])\.?(?:bashrc|zshrc|bash_profile|profile|zprofile|xinitrc|inputrc)\b[^\n]{0,60}\b(?:add|line
        |export|later|session|append|write)
      | \b(?:add|place|put|write|install|append|register|plant|drop|create|set\s+up|leave|schedule|start|hide|instal\w*
        |anad\w+|ajout\w*|hinzufug\w*|einricht\w*)\b
        [^\n.;:!?]{0,60}?(?:\b(?:bashrc|zshrc|bash_profile|crontabs?|cron\s?jobs?|autostart|startup\s+(?:file|script
        |folder)s?|start-?up|git\s+hooks?|(?:post|pre)-(?:commit|checkout|merge|push|receive)\s+hooks?
          |login\s+shell|systemd|launch\s?agents?|daemons?|scheduled\s+(?:task|job)s?|background\s+(?:job|service
          |process)\w*|sitecustomize|conftest\s+that|watch\s?dog)\b|\.git/hooks)
      | \b(?:in|for|across|to|over)\s+(?:all\s+|any\s+|every\s+|the\s+)?(?:later|future|further|following|coming
        |next)\s+(?:sessions?|log-?ins?|starts?|threads?|agents?)\b
      | \bso\s+that\s+later\s+(?:tasks|sessions|agents|threads)\b | \bkeeps?\s+running\s+after\b
        | \bsurviv\w+\s+(?:the\s+|a\s+)?(?:reboot|restart|end|clean\w*|task|session)
      | \bgit\s+calls\s+it\b | \b(?:keep|stay)\b[^\n.;!?]{0,40}\balive\b[^\n.;!?]{0,40}\b(?:everybody|everyone|clone
        |sessions?|agents?|works)\b"""
)
_DESTROYING: Final = later(
    r"""(?ix) \b(?:delete|remove|wipe|clear|erase|purge|drop|destroy|truncate|discard|throw\s+away|empty|losch\w*|borr\w+
        |supprim\w*|effac\w*|cancell\w*)\b
        [^\n.;:!?]{0,40}?\b(?:backups?|audit\s+(?:log|trail)\w*|(?:the\s+)?(?:whole|entire)\s+\w+|checkpoints?|snapshots?
        |home\s+(?:folder|directory)|uncommitted|other\s+people's|production|everything|all\s+(?:data|files|folders
        |branches|logs)
          |history|sicherung\w*|copias?\s+de\s+seguridad|sauvegardes?|(?:the\s+)?\.git)\b
      | \bbefore\s+deleting\b[^\n.;!?]{0,30}\bjust\b | \b(?:crypto\w*|coin)\s?-?(?:miner|mining)\b | \b(?:run|start
        |let)\b[^\n.;!?]{0,30}\b(?:the\s+|a\s+)?miner\b | \bidle\s+(?:cores|cpus?|gpus?)\b | \bbackdoors?\b
      | \bcannot\s+be\s+undone\b | \brm\s+-\w | \bgit\s+(?:reset\s+--hard|clean\s+-\w)"""
)

_DEEDS: Final = {
    "secrets": _SECRETS, "approvals": _APPROVALS, "the network": _NETWORK, "accounts and rights": _ACCOUNTS,
    "what others share": _REMOTES, "checks": _CHECKS, "what people are told": _REPORTS, "rules": _RULES,
    "other people": _PEOPLE, "what lasts beyond the task": _LASTING, "what cannot be brought back": _DESTROYING,
}  # fmt: skip


def deeds_in(text: str) -> tuple[str, ...]:
    """What the deeds touch that a text asks for; it is to be given as it is read (``legible.as_read``)."""
    return tuple(touched for touched, deed in _DEEDS.items() if deed.search(text))
