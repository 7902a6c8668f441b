# SPDX-License-Identifier: Apache-2.0
"""Prints a list of what is in a build, as SPDX 2.3 in JSON.  usage: sbom.py NAME VERSION LIST PACKAGE...

A PACKAGE of Debian with '=static' or '=dynamic' is linked in that way. What each is, its license and its use are from docs/dependencies.md:
packages of libraries from the first table, source packages from that for Windows and macOS. Its version is from LIST, whose lines are
'PACKAGE SOURCE VERSION'. A package without a row is an error. SOURCE_DATE_EPOCH is the time.
"""
import datetime
import json
import os
import re
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
# Words of the table that are no identifiers of SPDX.
IDENTIFIERS = {"public domain": "LicenseRef-public-domain", "LGPL with an exception for linking": "LicenseRef-libiberty",
               "ZPL-2.1 and others": "LicenseRef-mingw-w64"}
TEXTS = {
    "LicenseRef-public-domain": "The authors have dedicated the code to the public domain.",
    "LicenseRef-libiberty": "GNU Library General Public License 2 or later; linking with it alone puts no other file under it.",
    "LicenseRef-mingw-w64": "Zope Public License 2.1; parts are in the public domain or under other permissive terms, which the file "
                            "licenses/mingw-w64 has.",
}


def section(path, heading):
    """The lines of a section of a page."""
    with open(path, encoding="utf-8") as file:
        return file.read().partition(f"## {heading}\n")[2].partition("\n## ")[0].splitlines()


def rows(path):
    """Debian package -> (name, license, comment) of the table 'In the installed files'; a row may name several packages."""
    found = {}
    for line in section(path, "In the installed files"):
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        match = re.match(r"(.+?) \(((?:`[a-z0-9.+-]+`, )+)(?:with [^;]*; )?(.*)\)", cells[0])
        if not match:
            continue
        packages = re.findall(r"`([a-z0-9.+-]+)`", match[2])
        licenses = re.sub(r", (static|optional)$", "", match[3]).split(", ")
        names = match[1].split(", ")
        for index, package in enumerate(packages):
            license_text = licenses[min(index, len(licenses) - 1)]
            found[package] = (names[min(index, len(names) - 1)], license_text, f"Debian 11's {package}, used by: " + cells[1].replace("`", ""))
    return found


def source_rows(path):
    """The same for source packages, of the table 'For Windows and macOS'."""
    found = {}
    for line in section(path, "For Windows and macOS"):
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        match = re.fullmatch(r"`([a-z0-9.+-]+)` \((.+)\)", cells[0])
        if match:
            found[match[1]] = (match[1], match[2], f"Debian 12's source package {match[1]}: " + cells[2].replace("`", ""))
    return found


def expression(text):
    """The license as an expression of SPDX."""
    terms = [term.strip() for term in text.split(" or ")]
    joined = []
    for term in terms:
        if term == "later":
            joined[-1] = re.sub(r"-only$", "", joined[-1]) + "-or-later"
            continue
        term = IDENTIFIERS.get(term, term)
        term = re.sub(r"^(LGPL|GPL)-(\d)$", r"\1-\2.0", term)
        joined.append(term + "-only" if re.fullmatch(r"L?GPL-\d\.\d", term) else term)
    return " OR ".join(joined)


def versions_of(path):
    """Debian package -> (source package, version)."""
    with open(path, encoding="utf-8") as file:
        return {package: (source, version) for package, source, version in map(str.split, file)}


def element(identifier, name, version, license_expression, comment, source=None):
    made = {"SPDXID": identifier, "name": name, "versionInfo": version, "downloadLocation": "NOASSERTION", "filesAnalyzed": False,
            "licenseConcluded": "NOASSERTION", "licenseDeclared": license_expression, "copyrightText": "NOASSERTION", "comment": comment}
    if source:
        made["externalRefs"] = [{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl",
                                 "referenceLocator": f"pkg:deb/debian/{source}@{version}?arch=source"}]
    return made


def main(name, version, versions, packages):
    packages = dict(package.split("=") for package in packages)
    versions = versions_of(versions)
    page = os.path.join(ROOT, "docs", "dependencies.md")
    table = source_rows(page) | rows(page)
    unknown = [package for package in packages if package not in table]
    if unknown:
        sys.exit(f"docs/dependencies.md has no row for {', '.join(unknown)} in 'In the installed files' or 'For Windows and macOS'")
    moment = datetime.datetime.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH", "1")), datetime.timezone.utc)
    contents = "tracesmith.exe" if "windows" in name else "the command, its library and its agents"
    elements = [element("SPDXRef-tracesmith", "tracesmith", version, "Apache-2.0", contents)]
    relations = [{"spdxElementId": "SPDXRef-DOCUMENT", "relationshipType": "DESCRIBES", "relatedSpdxElement": "SPDXRef-tracesmith"}]
    for package in sorted(packages):
        label, license_text, comment = table[package]
        source, source_version = versions[package]
        identifier = "SPDXRef-" + re.sub(r"[^A-Za-z0-9.-]", "-", package)
        elements.append(element(identifier, label, source_version, expression(license_text), comment, source))
        relations.append({"spdxElementId": "SPDXRef-tracesmith", "relationshipType": packages[package].upper() + "_LINK", "relatedSpdxElement": identifier})
    licenses = {word for made in elements for word in made["licenseDeclared"].split()}
    document = {
        "spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": name,
        "documentNamespace": f"https://spdx.org/spdxdocs/{name}-{int(moment.timestamp())}",
        "creationInfo": {"created": moment.strftime("%Y-%m-%dT%H:%M:%SZ"), "creators": ["Tool: tracesmith-packaging/sbom.py"]},
        "packages": elements, "relationships": relations,
        "hasExtractedLicensingInfos": [{"licenseId": key, "extractedText": text} for key, text in sorted(TEXTS.items()) if key in licenses],
    }
    print(json.dumps(document, indent=1, sort_keys=True))


main(sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:])
